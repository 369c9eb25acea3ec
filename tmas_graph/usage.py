"""What model calls cost."""

from collections.abc import Iterable
from dataclasses import dataclass

from tmas_graph.stored import Stored


@dataclass(frozen=True, slots=True)
class Usage(Stored):
    """What was spent: requests sent, and tokens as the endpoint counted them."""

    calls: int = 0
    """Requests sent, those that failed included."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Thinking included."""
    reasoning_tokens: int = 0
    """The part of the completion that was thinking, where the endpoint says so."""
    cached_tokens: int = 0
    """The part of the prompt that the endpoint had in its cache, where it says so."""
    estimated_tokens: int = 0
    """The part of prompt and completion that no endpoint counted: of broken requests, say."""
    cost: float = 0.0
    """Money, by the price table of the settings; 0 without prices."""

    def __add__(self, other: "Usage") -> "Usage":
        """Sum, field by field."""
        return Usage(  # by name: a run adds some twenty times a call
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cached_tokens + other.cached_tokens,
            self.estimated_tokens + other.estimated_tokens,
            self.cost + other.cost,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        """What is left without `other`, field by field."""
        names = self.__dataclass_fields__  # astuple would copy each number deeply
        return Usage(*(getattr(self, name) - getattr(other, name) for name in names))

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


def summed(usages: Iterable[Usage]) -> Usage:
    """All of `usages` together."""
    return sum(usages, Usage())
