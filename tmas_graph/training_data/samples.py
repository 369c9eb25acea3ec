"""One prompt to train on, before it is chosen or left out."""

from collections.abc import Iterable
from dataclasses import dataclass

from tmas_graph.grpo.rows import Source
from tmas_graph.memory.borrowing import Borrowed
from tmas_graph.memory.guideline_bank import Listed, Named
from tmas_graph.memory.retrieval import Noted
from tmas_graph.prompts import Message, estimate_tokens
from tmas_graph.state import Problem, digest

Chat = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a prompt comes from."""

    run: str
    """The run's folder, by its own name."""
    method: str
    model: str
    """That which wrote the run's candidates."""
    thread: str = ""
    iteration: int | None = None
    """In which it was asked; None for the problem alone, which is in none."""


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item of the experience bank, as a prompt shows it."""

    kind: str
    text: str
    conditions: str
    status: str
    """`open`, `supported` or `refuted`."""
    reason: str
    """Why it was refuted."""
    problem: str = ""
    """Id of the problem that it was borrowed from; empty for its own."""


@dataclass(frozen=True, slots=True)
class ShownStrategy:
    """A strategy of the guideline bank, as a prompt lists it."""

    name: str
    essence: str
    tries: int
    best_score: float | None


@dataclass(frozen=True, slots=True)
class Sample:
    """A prompt with what its reward depends on."""

    source: Source
    prompt: Chat
    problem: Problem
    problem_prompt: Chat
    """Of the problem alone."""
    origin: Origin
    experience: tuple[ShownItem, ...] = ()
    strategies: tuple[ShownStrategy, ...] = ()
    rollouts: int = 0
    """Earlier attempts that the prompt shows."""

    @property
    def key(self) -> str:
        """Equal for equal prompts; what is ordered by it is shuffled, but always alike."""
        return digest(*(part for m in self.prompt for part in (m["role"], m["content"])))

    @property
    def tokens(self) -> int:
        """About how many tokens the prompt has."""
        return sum(estimate_tokens(message["content"]) for message in self.prompt)


def items_of(experience: Iterable[Noted], borrowed: Iterable[Borrowed]) -> tuple[ShownItem, ...]:
    """What a prompt shows of the experience bank, in its order."""
    own = (
        ShownItem(one.kind, one.text, one.conditions, one.status, one.reason) for one in experience
    )
    lent = (
        ShownItem(one.kind, one.text, one.conditions, one.status, one.reason, one.problem)
        for one in borrowed
    )
    return (*own, *lent)


def strategies_of(listed: Listed) -> tuple[ShownStrategy, ...]:
    """What a prompt lists of the guideline bank: full lines first, then mere names."""
    return (
        *map(_strategy, listed.full),
        *(ShownStrategy(one.name, "", one.tries, one.best_score) for one in listed.folded),
    )


def _strategy(one: Named) -> ShownStrategy:
    return ShownStrategy(one.name, one.essence, one.tries, one.best_score)
