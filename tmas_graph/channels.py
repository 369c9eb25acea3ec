"""The channels of the graph: what it keeps from node to node, and in every checkpoint."""

from collections.abc import Sequence
from typing import Annotated, Any

from typing_extensions import TypedDict

from tmas_graph import progress, spending
from tmas_graph.answers.select import Classes
from tmas_graph.memory import borrowing, ledger
from tmas_graph.memory.items import ItemRow
from tmas_graph.progress import Row
from tmas_graph.state import Input, Mode, Result, Rollout, Stop, Strategy
from tmas_graph.usage import Usage


def latest(old: Sequence[Rollout], new: Sequence[Rollout] | int) -> tuple[Rollout, ...]:
    """Reducer: the rollouts by iteration and index, in whatever order they finished.

    A number in place of rollouts closes the iteration of that number: what is older goes. Until
    then it stays, because candidates that failed or were halted must see it when they go on.
    """
    if isinstance(new, int):
        return tuple(r for r in old if r.iteration >= new)
    rollouts = {(r.iteration, r.index): r for r in (*old, *new)}
    return tuple(rollouts[key] for key in sorted(rollouts))


class State(Input, total=False):
    """What the graph keeps; each channel is of constant size, or nearly.

    Tuples come back from a checkpoint as lists; who needs one makes one.
    """

    iteration: int
    """t: the iteration that runs or comes next; so many are done."""
    modes: tuple[Mode, ...]
    """How each candidate of iteration t works."""
    rollouts: Annotated[tuple[Rollout, ...], latest]
    """R: the rollouts of the last iteration; while the next one runs, of both."""
    history: tuple[Row, ...]
    """Every candidate so far without its texts: the fields of an Attempt, in order."""
    classes: Classes
    """Which of them gave equal answers; for each of `history` the place of the first equal one."""
    experience: tuple[ledger.Row, ...]
    """E: the ledger; for each item of the store that exists for this run an Entry's fields."""
    noted: tuple[ItemRow, ...]
    """What the items say that were noted last: together the checkpoints hold all of E's texts."""
    borrowed: tuple[borrowing.Row, ...]
    """What iteration t is shown of other problems' experience, whole: the fields of a Borrowed."""
    strategies: tuple[Strategy, ...]
    """G: the guideline bank."""
    bank_usage: Annotated[dict[str, Usage], progress.by_bank]
    """What the two bank agents spent in iteration t."""
    spend: tuple[spending.Row, ...]
    """Spent in finished iterations, by role; for each an iteration, a role, a Usage's fields."""
    leader: Rollout | None
    """The best rollout that holds the leading answer, or the best proof."""
    stop: Stop | None
    """Why no further iteration follows."""
    result: Result


class Update(TypedDict, total=False):
    """What a node of the graph may return."""

    problem: Any
    iteration: int
    modes: tuple[Mode, ...]
    rollouts: int
    history: tuple[Row, ...]
    classes: Classes
    experience: tuple[ledger.Row, ...]
    noted: tuple[ItemRow, ...]
    borrowed: tuple[borrowing.Row, ...]
    strategies: tuple[Strategy, ...]
    bank_usage: dict[str, Usage]
    spend: tuple[spending.Row, ...]
    leader: Rollout | None
    stop: Stop | None
    result: Result
