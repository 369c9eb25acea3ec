"""How long to wait before a request is sent again."""

import random

from tmas_graph.models.faults import Fault

_LONGEST_BACKOFF = 60.0


def wait_for(fault: Fault, attempt: int, left: float) -> float:
    """Seconds until the attempt after this one; `left` are what the deadline leaves.

    The server's own wish counts, where it has one; none of its callers return at the same time.

    Raises:
        Fault: it would be too late then; what `fault` says, and why there is no waiting.
    """
    asked = fault.retry_after or 0.0
    wait = asked * random.uniform(1.0, 1.1) if asked else backoff(attempt)
    if wait < left:
        return wait
    if asked >= left:
        fault.said += f"; it asks to wait {asked:.3g} s, and {max(0.0, left):.3g} s are left"
    raise fault


def backoff(attempt: int) -> float:
    """Seconds to wait after this attempt where the server doesn't say."""
    # Spread over time only; nothing that is stored depends on this draw.
    return float(min(0.5 * 2.0**attempt, _LONGEST_BACKOFF)) * random.uniform(0.5, 1.0)
