"""Faults drawn by chance, always the same for the same seed."""

import hashlib
from collections.abc import Callable, Collection, Mapping

from endpoints.fault import Fault
from endpoints.protocol import Request


def mix(seed: int, rates: Mapping[Fault, float]) -> Callable[[Request], Fault | None]:
    """A fault function that draws each fault with its chance; no fault with what is left of 1.

    The draw depends on seed, body and attempt only, not on the order of arrival: a repeat of a
    request draws anew, a run with the same requests meets the same faults. A drawn fault that
    doesn't fit the request (`Fault.streamed`) is none.

    Raises:
        ValueError: the chances are more than 1 together.
    """
    if sum(rates.values()) > 1 + 1e-9:
        raise ValueError(f"rates: {sum(rates.values()):g} together, more than 1. Lower them.")

    def fault(request: Request) -> Fault | None:
        left = share(f"{seed}:{request.digest}:{request.attempt}")
        for each, rate in rates.items():
            left -= rate
            if left < 0:
                return each
        return None

    return fault


def evenly(rate: float, faults: Collection[Fault]) -> dict[Fault, float]:
    """Rates for `mix`: `rate` over all `faults` together."""
    return dict.fromkeys(faults, rate / len(faults))


def at_most(attempts: int, fault: Callable[[Request], Fault | None]) -> Callable[..., Fault | None]:
    """The same for the first `attempts` of a request, no fault for those after."""

    def early(request: Request) -> Fault | None:
        return fault(request) if request.attempt < attempts else None

    return early


def share(text: str) -> float:
    """A number in [0, 1) that depends on `text` only."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:13], 16) / 16**13
