"""What a model says back, and the one seam through which agents reach a model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tmas_graph.prompts import Message
from tmas_graph.state import Usage

_THINKING = re.compile(r"^\s*(?:<think>)?(.*?)</think>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """One completion, thinking apart from what was said."""

    text: str
    thinking: str = ""
    finish_reason: str = "stop"
    usage: Usage = field(default=Usage())
    """Of the whole request, on its first reply; the other replies of a request have none."""

    @property
    def whole(self) -> bool:
        """Whether it came to its end and says something."""
        return self.finish_reason != "length" and bool(self.text.strip())


class Model(Protocol):
    """Anything that answers messages: an endpoint, a checkpointed endpoint, a script in a test."""

    async def __call__(self, messages: list[Message], *, n: int = 1) -> list[Reply]:
        """Return up to `n` independent replies; fewer if the endpoint gave fewer, never none.

        Raises:
            CallError: no reply came.
        """
        ...


def split_thinking(text: str) -> tuple[str, str]:
    """`(thinking, rest)` of a text that may hold `<think>…</think>`, its opening tag or not.

    A text that opens its thinking and never closes it is all thinking.
    """
    if found := _THINKING.match(text):
        return found.group(1).strip(), text[found.end() :].strip()
    if text.lstrip().startswith("<think>"):
        return text.lstrip().removeprefix("<think>").strip(), ""
    return "", text


def total(replies: Sequence[Reply]) -> Usage:
    """What `replies` cost together."""
    return sum((reply.usage for reply in replies), Usage())
