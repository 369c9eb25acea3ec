"""The data that flows: problems, rollouts, strategies, results.

Everything here is frozen: a node that changed its input would be seen by the next node, but not
by the checkpoint, and a replay would differ.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, get_args

from typing_extensions import TypedDict

from tmas_graph.errors import ProblemError
from tmas_graph.stored import Stored
from tmas_graph.usage import Usage, summed

_T = TypeVar("_T")
Mode = Literal["initial", "exploit", "explore"]
Kind = Literal["answer", "proof"]
Outcome = Literal[
    "open", "finished", "truncated", "empty", "refused", "filtered", "failed", "halted"
]
Stop = Literal["iterations", "confident", "budget"]


@dataclass(frozen=True, slots=True)
class Problem(Stored):
    """One question to solve."""

    question: str
    id: str = ""
    """Names the problem in seeds, rows and reports; from the question's text where not given."""
    kind: Kind = "answer"
    r"""`answer`: ends in a `\boxed{}` answer; `proof`: a full proof is wanted."""

    def __post_init__(self) -> None:
        """Check the fields, and name a problem that has no name."""
        if not isinstance(self.question, str) or not self.question.strip():
            raise ProblemError('problem: "question" is empty. Give the text of the problem.')
        if self.kind not in get_args(Kind):
            raise ProblemError(f'problem: kind is {self.kind!r}. Use "answer" or "proof".')
        if not self.id:
            object.__setattr__(self, "id", "q-" + digest(self.kind, self.question)[:12])


@dataclass(frozen=True, slots=True)
class Verification(Stored):
    """One independent check of one candidate."""

    analysis: str
    """What the verifier wrote; empty once a summary has condensed it."""
    score: float | None
    """1 correct, 0.5 partly, 0 wrong; None if no score could be read."""


@dataclass(frozen=True, slots=True)
class Rollout(Stored):
    """One candidate with all that was made of it."""

    iteration: int
    index: int
    mode: Mode
    solution: str = ""
    """Without thinking; empty unless the reply came whole."""
    answer: str | None = None
    """What was extracted from the solution; None for proofs and where there is none."""
    verifications: tuple[Verification, ...] = ()
    summary: str = ""
    outcome: Outcome = "open"
    """`truncated`, `empty`, `refused` (by the model) and `filtered` replies are no solutions.

    `failed`: an endpoint gave no reply; `halted`: the budget was spent before it came through.
    Both go on when the run is resumed.
    """
    cause: str = ""
    """Why it failed or was halted, for people."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """What was spent on it by each role, failed calls included."""

    def __post_init__(self) -> None:
        """Undo what msgpack does: tuples come back from a checkpoint as lists."""
        object.__setattr__(self, "verifications", tuple(self.verifications))

    @property
    def score(self) -> float | None:
        """Mean of its readable verifications in [0, 1]; None is "unknown", which is not 0."""
        return mean_score(self.verifications)

    @property
    def spent(self) -> Usage:
        """What all roles spent on it together."""
        return summed(self.usage.values())

    def charged(self, role: str, usage: Usage) -> "Rollout":
        """The same candidate, on which `role` has spent `usage` more."""
        before = self.usage.get(role, Usage())
        return replace(self, usage={**self.usage, role: before + usage})


@dataclass(frozen=True, slots=True)
class Attempt(Stored):
    """What stays of a rollout for good: enough to vote, too little to make checkpoints grow.

    In the graph's state it is a plain tuple: with its names it would take three times the space.
    """

    iteration: int
    index: int
    mode: Mode
    outcome: Outcome
    answer: str | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Strategy(Stored):
    """A high-level approach that was tried, whether it worked or not."""

    name: str
    essence: str = ""
    """Its main idea, as it was first said."""
    tried: tuple[tuple[int, int], ...] = ()
    """For each iteration in which it was named: the iteration, and how many candidates used it.

    0 where it was said that it was used, but not by which.
    """
    best_score: float | None = None
    """The best mean score of the candidates that used it; None is "unknown", which is not 0."""
    outcome: str = ""
    """How it ended, as it was last said."""

    def __post_init__(self) -> None:
        """Undo what msgpack does: tuples come back from a checkpoint as lists."""
        object.__setattr__(self, "tried", tuple((t, count) for t, count in self.tried))

    @property
    def tries(self) -> int:
        """How many candidates used it at least, over all iterations."""
        return sum(max(1, count) for _, count in self.tried)

    @property
    def named(self) -> int:
        """Of how many candidates it was said that they used it."""
        return sum(count for _, count in self.tried)

    @property
    def iterations(self) -> tuple[int, ...]:
        """In which iterations it was named, in order."""
        return tuple(t for t, _ in self.tried)


@dataclass(frozen=True, slots=True)
class Spend(Stored):
    """What one role spent in one iteration."""

    iteration: int
    role: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Standing(Stored):
    """What the answer would be if a run ended after this iteration."""

    iteration: int
    answer: str | None
    confidence: float
    """As in a Result."""
    score: float | None
    """The best mean score of a candidate with this answer, or of a proof."""
    depth: int
    """Model calls that waited for one another within the iteration."""


@dataclass(frozen=True, slots=True)
class Result(Stored):
    """How a run ended."""

    answer: str | None
    """The answer with the best evidence; None for proofs, or if no candidate gave one."""
    confidence: float
    """Share of the answer's weight among all votes, in [0, 1]; for proofs the best mean score."""
    solution: str
    """Text of the best rollout that holds this answer, or of the best proof."""
    score: float | None
    """Mean score of that rollout."""
    iterations: int
    """Iterations done."""
    stop: Stop
    """`iterations`: T reached; `confident`: early stop; `budget`: a limit on what may be spent."""
    usage: Usage = field(default=Usage())
    """All that was spent; more than the sum of `spend` where calls were broken off."""
    spend: tuple[Spend, ...] = ()
    """What each role spent in each iteration, in order."""
    attempts: tuple[Attempt, ...] = ()
    """Every candidate, in order; those of an iteration that was cut short, too."""
    standings: tuple[Standing, ...] = ()
    """How things stood after each finished iteration."""

    def __post_init__(self) -> None:
        """Undo what msgpack does, as above."""
        for name in ("spend", "attempts", "standings"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Memory:
    """What candidates of the next iteration may be shown."""

    rollouts: tuple[Rollout, ...] = ()
    experience: tuple[Sequence[Any], ...] = ()
    """Rows of the ledger."""
    strategies: tuple[Strategy, ...] = ()
    borrowed: tuple[Sequence[Any], ...] = ()
    """Rows of what other problems have learnt."""


class Unstored(dict[str, object]):
    """Carries `memory` to parallel candidates without being stored with each of them.

    To every serializer it is an empty mapping, and as one it comes back; who finds no memory
    reads the graph's own state, which holds the same once.
    """

    __slots__ = ("_making", "_shared", "memory")

    def __init__(self, memory: Memory) -> None:
        """Carry `memory`."""
        super().__init__()
        self.memory = memory
        self._making = asyncio.Lock()
        self._shared: list[Any] = []

    async def shared(self, make: Callable[[Memory], Awaitable[_T]]) -> _T:
        """What `make` gives for the memory, made once for all who carry it."""
        async with self._making:
            if not self._shared:
                self._shared.append(await make(self.memory))
        made: _T = self._shared[0]
        return made


class Input(TypedDict):
    """What every method takes: a Problem, its fields as a mapping, or just the question."""

    problem: Problem


class Output(TypedDict):
    """What every method gives."""

    result: Result


def as_problem(value: object) -> Problem:
    """The problem that `value` (a Problem, a mapping of its fields, or a text) stands for.

    Raises:
        ProblemError: it is empty, or has other fields.
    """
    if isinstance(value, Problem):
        return value
    if isinstance(value, str):
        return Problem(value)
    if not isinstance(value, Mapping):
        raise ProblemError(f"problem: a {type(value).__name__} was given. Give the question.")
    unknown = sorted(set(value) - {"question", "id", "kind"})
    if unknown or "question" not in value:
        wrong = f"unknown field {unknown[0]!r}" if unknown else 'no "question"'
        raise ProblemError(f"problem: {wrong}. The fields are question, id and kind.")
    return Problem(value["question"], value.get("id") or "", value.get("kind") or "answer")


def mean_score(verifications: Sequence[Verification], *, at_least: float = 0.5) -> float | None:
    """Mean of the readable scores, in [0, 1].

    Returns None ("unknown", which is not 0) if fewer than `at_least` of them could be read.
    """
    scores = [v.score for v in verifications if v.score is not None]
    if not scores or len(scores) < at_least * len(verifications):
        return None
    return sum(scores) / len(scores)


def digest(*parts: str) -> str:
    """SHA-256 of `parts` in hexadecimal; equal in every process and on every machine."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
