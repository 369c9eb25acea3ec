"""One line of a comparison: a method at one iteration, or within one budget of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tmas_graph.evaluation import metrics
from tmas_graph.evaluation.metrics import Figure
from tmas_graph.evaluation.paired import Difference
from tmas_graph.evaluation.tracks import Standing
from tmas_graph.evaluation.voting_at_tokens import Votes, pass_at_1
from tmas_graph.usage import Usage


@dataclass(frozen=True, slots=True)
class Against:
    """A difference to the base, and its chance corrected for all others in the same table."""

    difference: Difference
    holm: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A method at one point; figures are None where it has none there."""

    axis: str
    """`iterations` or `tokens`."""
    at: float
    """The iteration, or the tokens per problem that may be spent."""
    method: str
    iteration: int | None = None
    """Whose standing it is; None for votes, which have none, and where nothing fits."""
    problems: int = 0
    held: int = 0
    """Problems that ended before and keep their last standing."""
    failed: int = 0
    candidates: int | None = None
    """So far, at a problem; for votes, how many vote."""
    paid: int | None = None
    """For votes: how many samples the tokens pay for, be there so many or not."""
    pass_at_1: Figure | None = None
    selected: Figure | None = None
    majority: Figure | None = None
    oracle: Figure | None = None
    selected_against: Against | None = None
    pass_at_1_against: Against | None = None
    spent: Usage | None = None
    """At all problems together, so far."""
    depth: float | None = None
    seconds: float | None = None
    """The last two: mean per problem, so far."""
    selected_values: Mapping[str, float] = field(default_factory=dict, repr=False)
    pass_at_1_values: Mapping[str, float] = field(default_factory=dict, repr=False)
    """The last two: by problem, for differences."""

    @property
    def tokens(self) -> float | None:
        """Spent per problem, so far."""
        return self.each(None if self.spent is None else self.spent.tokens)

    def each(self, total: float | None) -> float | None:
        """`total` per problem."""
        return None if total is None or not self.problems else total / self.problems


def of_standing(axis: str, at: float, method: str, standing: Standing | None) -> Entry:
    """What `standing` says; nothing, where there is none."""
    if standing is None:
        return Entry(axis, at, method)
    points = standing.points
    return Entry(
        axis,
        at,
        method,
        iteration=standing.iteration,
        problems=len(points),
        held=standing.held,
        failed=standing.failed,
        candidates=standing.candidates,
        pass_at_1=standing.pass_at_1,
        selected=standing.selected,
        majority=standing.majority,
        oracle=standing.oracle,
        spent=standing.spent,
        depth=standing.depth,
        seconds=standing.seconds,
        selected_values={n: float(p.selected == "correct") for n, p in points.items()},
        pass_at_1_values=metrics.per_problem({n: p.tries for n, p in points.items()}),
    )


def of_votes(at: float, method: str, votes: Votes | None, paid: int | None) -> Entry:
    """What `votes` say; nothing, where not a single sample is paid for."""
    if votes is None:
        return Entry("tokens", at, method, paid=paid)
    tries = votes.samples.tries
    return Entry(
        "tokens",
        at,
        method,
        problems=len(tries),
        failed=sum(all(one.status == "error" for one in many) for many in tries.values()),
        candidates=votes.k,
        paid=paid,
        pass_at_1=metrics.pass_at(tries),
        selected=votes.selected,
        majority=votes.selected,
        spent=votes.spent,
        depth=1.0,
        selected_values=votes.values,
        pass_at_1_values=pass_at_1(votes.samples),
    )
