"""What a model says back, and the one seam through which agents reach a model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tmas_graph.models.completion import Choice
from tmas_graph.prompts import Prompt
from tmas_graph.usage import Usage, summed

Ending = Literal["whole", "truncated", "empty", "refused", "filtered"]
"""`truncated` replies lack their end; `refused`: the model declined; `filtered`: a filter did."""
_CUT = frozenset({"length", "content_filter", "abort"})
"""Reasons to finish that leave a text without its end."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One completion, thinking apart from what was said."""

    text: str
    thinking: str = ""
    finish_reason: str = "stop"
    usage: Usage = field(default=Usage())
    """Of the whole call, on its first reply; the other replies of a call have none."""
    refusal: str = ""
    """What the model said in place of an answer that it declined to give."""

    @property
    def ending(self) -> Ending:
        """How it ended; only a `whole` one may be shown to other agents."""
        if self.finish_reason == "content_filter":
            return "filtered"
        if self.cut:
            return "truncated"
        if self.refusal:
            return "refused"
        return "whole" if self.text.strip() else "empty"

    @property
    def cut(self) -> bool:
        """Whether it ends before its end."""
        return self.finish_reason in _CUT

    @property
    def whole(self) -> bool:
        """Whether it came to its end and says something."""
        return self.ending == "whole"

    @property
    def lines(self) -> list[str]:
        """Its lines: without the last one if it was cut there, none if it was filtered."""
        lines = [] if self.ending == "filtered" else self.text.split("\n")
        return lines[:-1] if self.cut else lines


class Model(Protocol):
    """Anything that answers messages: an endpoint, a checkpointed endpoint, a script in a test."""

    async def __call__(self, prompt: Prompt, *, n: int = 1) -> list[Reply]:
        """Return up to `n` independent replies; fewer if the endpoint gave fewer, never none.

        Raises:
            CallError: no reply came.
            BudgetSpent: a budget doesn't allow the call.
        """
        ...


def split_thinking(text: str) -> tuple[str, str]:
    """`(thinking, rest)` of a text that may hold `<think>…</think>`, its opening tag or not.

    All up to the last closing tag is thinking; so is a text that opens it and never closes it.
    """
    thinking, closing, rest = text.rpartition("</think>")
    if not closing and not rest.lstrip().startswith("<think>"):
        return "", text
    if rest.lstrip().startswith("<think>"):
        thinking, rest = thinking + rest, ""
    return thinking.strip().removeprefix("<think>").strip(), rest.strip()


def reply_of(choice: Choice) -> Reply:
    """The reply that a choice of a completion is; what it cost is not known here."""
    thinking, text = split_thinking(_storable("".join(choice.text)))
    kept = _storable("".join(choice.thinking)) or thinking
    refusal = _storable("".join(choice.refusal))
    return Reply(text, kept, choice.finish_reason or "stop", refusal=refusal)


def _storable(text: str) -> str:
    """`text` without halves of surrogate pairs, which JSON can carry and no store takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def total(replies: Sequence[Reply]) -> Usage:
    """What `replies` cost together."""
    return summed(reply.usage for reply in replies)
