"""What a table shows of a model call, without its texts: times, place, tokens, how it ended."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tmas_graph.models.calls import Call
from tmas_graph.usage import Usage


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call without its texts."""

    id: str
    began: float
    """Seconds since the epoch, when it was asked for."""
    ended: float
    queued: float
    """Seconds that its requests waited for the limiter."""
    iteration: int
    role: str
    candidate: int
    purpose: str
    seed: int | None
    """That it was made for, sent or not."""
    model: str
    """As the endpoint calls it, else as it was asked for."""
    n: int
    """Replies asked for."""
    replies: int
    """Replies that came."""
    outcome: str
    """How its replies ended, or `failed`."""
    cause: str
    """Why no reply came."""
    cut: Mapping[str, int]
    usage: Usage

    @property
    def seconds(self) -> float:
        """How long it took once it left the limiter, pauses between its requests included."""
        return max(0.0, self.ended - self.began - self.queued)


def row_of(call: Call) -> CallRow:
    """The row that `call` has in a table."""
    began, ended = under_way(call)
    return CallRow(
        id=call.id,
        began=began,
        ended=ended,
        queued=float(sum(sending.queued for sending in call.sendings)),
        iteration=call.place.iteration,
        role=call.place.role,
        candidate=call.place.index,
        purpose=call.purpose,
        seed=call.draw,
        model=call.served or call.model,
        n=call.n,
        replies=len(call.replies),
        outcome=outcome_of(call),
        cause=call.cause,
        cut=dict(call.cut),
        usage=call.usage,
    )


def under_way(call: Call) -> tuple[float, float]:
    """When `call` was asked for and when it ended; now, if it sent nothing."""
    if not call.sendings:
        now = time.time()
        return now, now
    began = min(sending.began - sending.queued for sending in call.sendings)
    return began, max(sending.began + sending.seconds for sending in call.sendings)


def outcome_of(call: Call) -> str:
    """How its replies ended, `whole` or `3 whole, 1 truncated`; `failed` if there is none."""
    endings = Counter(reply.ending for reply in call.replies)
    if len(endings) == 1:
        return next(iter(endings))
    return ", ".join(f"{count} {name}" for name, count in endings.items()) or "failed"


def covered(intervals: Iterable[Sequence[float]]) -> float:
    """How long the union of `intervals` is, which come in the order of their beginnings."""
    length, reached = 0.0, float("-inf")
    for began, ended in intervals:
        if ended > reached:
            length += ended - max(began, reached)
            reached = ended
    return length


def as_unicode(text: str) -> str:
    """`text` with lone surrogates, which no file or terminal takes, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
