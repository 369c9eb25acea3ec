"""What goes wrong at the server of the synthetic reasoner, at given rates.

A second try of the same request draws anew, so that who tries again gets through in the end.
"""

import random
from dataclasses import dataclass
from typing import Literal

Kind = Literal["none", "error", "hang", "cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Shares of requests, in [0, 1]; together at most 1."""

    errors: float = 0.0
    """Are answered with status 500 or 503."""
    hangs: float = 0.0
    """Are never answered."""
    cuts: float = 0.0
    """End before their end, with the reason `length`."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        shares = (self.errors, self.hangs, self.cuts)
        if min(shares) < 0 or sum(shares) > 1:
            raise ValueError(f"trouble: {shares} are no shares of one whole. Lower them.")

    def of(self, request: int) -> Kind:
        """What becomes of the request of this number."""
        drawn = random.Random(f"{self.seed} {request}").random()
        for kind, share in (("error", self.errors), ("hang", self.hangs), ("cut", self.cuts)):
            if drawn < share:
                return kind  # type: ignore[return-value]
            drawn -= share
        return "none"
