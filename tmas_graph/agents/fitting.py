"""Prompts that can say less: what an agent is shown, in the order in which it is given up.

What other problems have learnt goes first; then solutions, those with the lowest scores before
others; then what single checks say; then items of the experience bank, the least fitting before
others; then what strategies are about and how they ended, then the lines on which they stand,
those of the least informative before others. The problem, the summaries, the scores and the
strategies' names stay.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

from tmas_graph.memory.borrowing import Borrowed
from tmas_graph.memory.guideline_bank import Listed, shorter
from tmas_graph.memory.retrieval import Noted, words
from tmas_graph.prompts import Message, Prompt, Prompts, estimate_tokens
from tmas_graph.state import Problem, Rollout, Verification

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Shown:
    """What an agent is shown besides the problem; strategies in their order, others best first."""

    rollouts: tuple[Rollout, ...] = ()
    verifications: tuple[Verification, ...] = ()
    experience: tuple[Noted, ...] = ()
    borrowed: tuple[Borrowed, ...] = ()
    """Of other problems."""
    strategies: Listed = field(default=Listed())


@dataclass(frozen=True, slots=True)
class _Step:
    """One thing given up."""

    kind: str
    shown: Shown
    tokens: int
    """About what it spares."""


def prompt(
    prompts: Prompts, name: str, problem: Problem, shown: Shown | None = None, **values: object
) -> Prompt:
    """The prompt of template `name`, which can be made smaller as far as `shown` allows.

    Raises:
        PromptError: the template is missing or faulty.
    """
    return _made(prompts, name, problem, shown or Shown(), {}, values)


def without(shown: Shown, cut: Mapping[str, int]) -> Shown:
    """`shown` as far as it was sent where a prompt had to lose what `cut` counts.

    What is given up comes in a fixed order, so that the number of things tells which they were.
    """
    for step in islice(_steps(shown), sum(cut.values())):
        shown = step.shown
    return shown


def _made(
    prompts: Prompts,
    name: str,
    problem: Problem,
    shown: Shown,
    cut: dict[str, int],
    values: dict[str, object],
) -> Prompt:
    kinds = {kind: getattr(shown, kind) for kind in Shown.__slots__ if kind not in values}
    messages = prompts.render(name, problem=problem.question, kind=problem.kind, **kinds, **values)

    def smaller(tokens: int) -> Prompt | None:
        less, gone, left = shown, dict(cut), tokens
        for step in _steps(shown):
            less, left = step.shown, left - step.tokens
            gone[step.kind] = gone.get(step.kind, 0) + 1
            if left <= 0:
                break
        if gone == cut:
            return None
        made = _made(prompts, name, problem, less, gone, values)
        # A template may show less than it is given, so that what went spares nothing.
        missing = tokens - (_tokens(messages) - _tokens(made.messages))
        return (made.smaller(missing) if missing > 0 else None) or made

    return Prompt(messages, cut, smaller)


def _tokens(messages: Sequence[Message]) -> int:
    return sum(estimate_tokens(message["content"]) for message in messages)


def _steps(shown: Shown) -> Iterator[_Step]:
    while shown.borrowed:
        *lent, foreign = shown.borrowed
        shown = replace(shown, borrowed=tuple(lent))
        yield _Step("borrowed", shown, foreign.tokens)
    for index in reversed(range(len(shown.rollouts))):
        if solution := shown.rollouts[index].solution:
            summed_up = replace(shown.rollouts[index], solution="")
            shown = replace(shown, rollouts=_with(shown.rollouts, index, summed_up))
            yield _Step("solutions", shown, estimate_tokens(solution))
    for index in reversed(range(len(shown.verifications))):
        if analysis := shown.verifications[index].analysis:
            bare = replace(shown.verifications[index], analysis="")
            shown = replace(shown, verifications=_with(shown.verifications, index, bare))
            yield _Step("verifications", shown, estimate_tokens(analysis))
    while shown.experience:
        *kept, last = shown.experience
        shown = replace(shown, experience=tuple(kept))
        yield _Step("experience", shown, estimate_tokens(words(last)))
    for less in shorter(shown.strategies):
        shown = replace(shown, strategies=less.listed)
        yield _Step(less.kind, shown, less.tokens)


def _with(items: tuple[_T, ...], index: int, item: _T) -> tuple[_T, ...]:
    return (*items[:index], item, *items[index + 1 :])
