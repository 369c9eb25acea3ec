"""What goes wrong at the quick server, at given rates; a second try of a request draws anew."""

import random
from dataclasses import dataclass
from typing import Literal

Kind = Literal["none", "error", "deaf", "silent", "cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Shares of requests."""

    errors: float = 0.0
    """Are answered with status 500 or 503."""
    hangs: float = 0.0
    """Are never answered, or fall silent after their first words: half of each."""
    cuts: float = 0.0
    """End in their midst, with the reason `length`."""

    def of(self, drawn: str) -> Kind:
        """What becomes of the request whose draw this is."""
        left = random.Random(drawn).random()
        half = self.hangs / 2
        shares: tuple[tuple[Kind, float], ...] = (
            ("error", self.errors),
            ("deaf", half),
            ("silent", half),
            ("cut", self.cuts),
        )
        for kind, share in shares:
            if left < share:
                return kind
            left -= share
        return "none"
