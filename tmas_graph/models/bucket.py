"""A limit per minute, as a token bucket that refills continuously.

The bucket is kept as the time when it is full again (the generic cell rate algorithm of ITU-T
I.371), so nothing has to be refilled, and "is there room" and "when will there be" can't disagree
by a rounding error.
"""

import math

BURST_SECONDS = 10.0
"""A full bucket holds what its limit gives in this time: no burst is a minute's worth."""


class Bucket:
    """Holds ten seconds' worth of a limit per minute, or 1 where that is more. Starts full."""

    __slots__ = ("_capacity", "_full_at", "_rate")

    def __init__(self, per_minute: int) -> None:
        """Refill by `per_minute`, at least 1, each minute."""
        self._set_rate(per_minute)
        self._full_at = -math.inf

    def _set_rate(self, per_minute: int) -> None:
        self._rate = per_minute / 60
        self._capacity = max(1.0, self._rate * BURST_SECONDS)

    def ready_at(self, amount: int) -> float:
        """Tell when `amount` is there; more than the bucket holds may go once it is full."""
        if amount >= self._capacity:
            return self._full_at
        return self._full_at - (self._capacity - amount) / self._rate

    def take(self, amount: int, now: float) -> None:
        """Take `amount`, on credit if need be; a negative one is given back."""
        full_at = self._full_at
        self._full_at = (full_at if full_at > now else now) + amount / self._rate

    def resize(self, per_minute: int, now: float) -> None:
        """Refill at another rate from `now` on; what is in it stays, and so does a debt."""
        level = self._capacity - max(0.0, self._full_at - now) * self._rate
        self._set_rate(per_minute)
        self._full_at = now + max(0.0, self._capacity - level) / self._rate


def resized(bucket: Bucket | None, per_minute: int | None, now: float) -> Bucket | None:
    """Give `bucket` another limit from `now` on; None is no limit."""
    if bucket is None or per_minute is None:
        return None if per_minute is None else Bucket(per_minute)
    bucket.resize(per_minute, now)
    return bucket
