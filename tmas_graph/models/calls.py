"""The record of a model call: what was asked, what came back, and what it took to get it."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Message
from tmas_graph.settings import AnyRole
from tmas_graph.state import digest
from tmas_graph.stored import by_name
from tmas_graph.usage import Usage, summed


@dataclass(frozen=True, slots=True)
class Place:
    """Which step of which problem makes a call."""

    problem: str
    """Its id."""
    iteration: int
    role: AnyRole
    index: int = 0
    """Of the candidate, for roles that work on one."""


@dataclass(frozen=True, slots=True)
class Sending:
    """One request of a call; each is charged, whatever came of it."""

    began: float
    """Seconds since the epoch, when it left the limiter."""
    queued: float
    """Seconds that it waited for the limiter."""
    seconds: float
    """From then until its answer was whole, or it was given up."""
    outcome: str
    """`answered`, else what went wrong, for people."""
    status: int | None = None
    """HTTP status, where there was one."""
    usage: Usage = field(default=Usage())


@dataclass(frozen=True, slots=True)
class Call:
    """One call with all its requests."""

    id: str
    place: Place
    base_url: str
    model: str
    """Name that was asked for."""
    served: str
    """Name that the endpoint gave as its own; empty if it gave none."""
    messages: tuple[Message, ...]
    """As sent at last, fitted into the context."""
    cut: Mapping[str, int]
    """What was left out to fit, for example {"solutions": 3}; empty if nothing was."""
    n: int
    seed: int | None
    """As sent; None if none was."""
    sampling: Mapping[str, Any]
    """The request's other fields: temperature, max_tokens, extra ones."""
    purpose: str = "first"
    """`first`, `more` (what an n left missing), `retry` or `continue` (of a truncated reply)."""
    replies: tuple[Reply, ...] = ()
    """Empty if none came."""
    cause: str = ""
    """Why no reply came, for people."""
    sendings: tuple[Sending, ...] = ()
    draw: int | None = None
    """The seed that it was made for, sent or not: with its place it says which call this is."""
    asked: str = ""
    """Digest of what it was to be asked, where something was left out to fit."""

    def puts(self, messages: Sequence[Message]) -> bool:
        """Whether it puts `messages` to the model, as far as they fit."""
        if self.asked:
            return self.asked == digest_of(messages)
        return list(self.messages) == list(messages)

    @property
    def usage(self) -> Usage:
        """What all its requests cost together."""
        return summed(sending.usage for sending in self.sendings)

    def plain(self) -> dict[str, Any]:
        """The record as JSON can hold it; `restored` undoes this."""
        # dataclasses.asdict takes as long as the call's whole way through the network.
        return {
            **by_name(self),
            "place": by_name(self.place),
            "messages": tuple({**message} for message in self.messages),
            "cut": dict(self.cut),
            "sampling": dict(self.sampling),
            "replies": tuple(map(_with_usage, self.replies)),
            "sendings": tuple(map(_with_usage, self.sendings)),
        }


def digest_of(messages: Sequence[Message]) -> str:
    """A digest of a whole prompt."""
    return digest(*(part for message in messages for part in (message["role"], message["content"])))


def _with_usage(part: Reply | Sending) -> dict[str, Any]:
    return {**by_name(part), "usage": by_name(part.usage)}


def restored(plain: Mapping[str, Any]) -> Call:
    """The call that `Call.plain` made `plain` of."""
    given = dict(plain)
    given["place"] = Place(**given["place"])
    given["messages"] = tuple(given["messages"])
    given["replies"] = tuple(
        Reply(**{**reply, "usage": Usage(**reply["usage"])}) for reply in given["replies"]
    )
    given["sendings"] = tuple(
        Sending(**{**sending, "usage": Usage(**sending["usage"])}) for sending in given["sendings"]
    )
    return Call(**given)


class CallLog(Protocol):
    """Where the calls of a run are noted."""

    def note(self, call: Call) -> Awaitable[None]:
        """Take `call` in at once; what is returned, awaited, ends when it is stored for good."""
        ...


@runtime_checkable
class CallStore(CallLog, Protocol):
    """A log that gives its calls back, so that checkpoints need to hold nothing of them."""

    async def earlier(self, place: Place, draw: int | None, purpose: str) -> Call | None:
        """An answered call of an earlier sitting with these; None if there is none."""
        ...
