"""Chooses among samples: which problems, each prompt once, how many, and for which part.

Everything is decided by hashes of texts, so that the same runs give the same files, and a problem
stays in its part whatever other runs are added.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.rows import SOURCES
from tmas_graph.state import digest
from tmas_graph.training_data.pass_rates import PassRate
from tmas_graph.training_data.references import Reference
from tmas_graph.training_data.samples import Sample

TWICE = "the same prompt is there already"
CAPPED = "more than --per-problem"
LIMITED = "more than --limit"
EASY = "solved by every rollout (p0 is 1)"
HARD = "solved by no rollout (p0 is 0)"
OUTSIDE = "p0 is outside of --difficulty"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen."""

    difficulty: tuple[float, float] | None = None
    """Least and greatest p0; None: all between 0 and 1, but neither of them."""
    min_rollouts: int = 4
    """Fewest rollouts behind a p0 that counts."""
    per_problem: int | None = None
    """Most samples of one problem."""
    limit: int | None = None
    """Most samples in all."""
    held_out: float = 0.1
    """About this share of problems is held out."""

    def check(self) -> None:
        """Refuse what chooses nothing.

        Raises:
            SettingsError: a number is out of range.
        """
        low, high = self.difficulty or (0.0, 1.0)
        if not 0 <= low <= high <= 1:
            raise SettingsError(
                f"--difficulty: {low:g} {high:g} is no range of p0. Give two numbers from 0 to 1, "
                "the lower one first."
            )
        if not 0 <= self.held_out < 1:
            raise SettingsError(
                f"--held-out: {self.held_out:g} is no share. Give a number from 0 to below 1."
            )


def fault_of(reference: Reference, rate: PassRate | None, choice: Choice) -> str:
    """Why a problem isn't trained on; empty if it is."""
    if reference.fault:
        return reference.fault
    if rate is None or rate.rollouts < choice.min_rollouts:
        return f"fewer than {choice.min_rollouts} rollouts without a bank"
    if choice.difficulty is None:
        return HARD if not rate.correct else EASY if rate.correct == rate.rollouts else ""
    low, high = choice.difficulty
    return "" if low <= rate.p0 <= high else OUTSIDE


def chosen(samples: Iterable[Sample], choice: Choice, left_out: Counter[str]) -> list[Sample]:
    """Those of `samples` that are kept, shuffled; how many aren't, by why, goes to `left_out`."""
    once, by_problem = set[str](), defaultdict[str, list[Sample]](list)
    for sample in samples:
        if sample.key in once:
            left_out[TWICE] += 1
        else:
            once.add(sample.key)
            by_problem[sample.problem.question].append(sample)
    kept = []
    for found in by_problem.values():
        some = list(_in_turns(found))[: choice.per_problem]
        left_out[CAPPED] += len(found) - len(some)
        kept += some
    kept.sort(key=lambda sample: sample.key)
    left_out[LIMITED] += max(0, len(kept) - (len(kept) if choice.limit is None else choice.limit))
    return kept[: choice.limit]


def is_held_out(question: str, share: float) -> bool:
    """Whether a problem is among the about `share` of all that are held out."""
    return int(digest("held out", question)[:13], 16) < share * 16**13


def parted(samples: Sequence[Sample], share: float) -> Mapping[str, list[Sample]]:
    """The samples of the two parts, `train` and `held_out`; no problem is in both."""
    parts: dict[str, list[Sample]] = {"train": [], "held_out": []}
    for sample in samples:
        held = is_held_out(sample.problem.question, share)
        parts["held_out" if held else "train"].append(sample)
    return parts


def _in_turns(samples: Sequence[Sample]) -> Iterator[Sample]:
    """One of each source after another, so that a cap takes none away before others."""
    by_source = [
        sorted((s for s in samples if s.source == source), key=lambda s: s.key)
        for source in SOURCES
    ]
    return (s for turn in zip_longest(*by_source) for s in turn if s is not None)
