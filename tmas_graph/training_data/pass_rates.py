"""p0: how often a problem is solved without any bank, counted over recorded rollouts.

A rollout counts if it saw the problem alone, in the template that normal prompts have: the first
iteration of TMAS, with banks or without, and the first round of every rival that begins so. Later
candidates of TMAS without banks see earlier attempts or are told to be unlike them, and don't.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.metrics import Status
from tmas_graph.evaluation.run_rows import GradedAttempt, Row
from tmas_graph.methods import find
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import seed_of
from tmas_graph.state import Problem, digest
from tmas_graph.training_data.recorded import Recorded

_REWORKED = ("solve-verify-correct", "marsrl")
"""Methods whose first round doesn't end with what was written first."""
_KNOWN: tuple[Status, ...] = ("correct", "incorrect", "unanswered", "truncated")
"""How a rollout ended that counts; `unsure` and `error` say nothing about the policy."""
_SAMPLING = ("temperature", "top_p", "max_tokens", "extra_body", "truncated", "context_tokens")


@dataclass(frozen=True, slots=True)
class PassRate:
    """How many rollouts of a problem there are, and how many of them are right."""

    correct: int
    rollouts: int

    @property
    def p0(self) -> float:
        """Their share, in [0, 1]."""
        return self.correct / self.rollouts


@dataclass(frozen=True, slots=True)
class Counted:
    """What was found."""

    rates: Mapping[str, PassRate]
    """By question; without those of which no rollout counts."""
    by_method: Mapping[str, int] = field(default_factory=dict)
    """How many rollouts each method gave."""
    by_model: Mapping[str, int] = field(default_factory=dict)
    """How many each model wrote."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many don't count, by why."""


def counted(runs: Iterable[Recorded], model: str | None = None) -> Counted:
    """The pass rates over all `runs`; with `model`, of its rollouts alone.

    Methods of a run draw with the same seeds, and so may runs: what was drawn with the same seed,
    model and sampling is one rollout, however often it is recorded.
    """
    statuses = defaultdict[str, list[Status]](list)
    methods, models, left_out = Counter[str](), Counter[str](), Counter[str]()
    seen = set[str]()
    for one in bare(runs):
        if model is not None and one.model != model:
            left_out["written by another model"] += 1
        elif one.draw in seen:
            left_out["the same draw, recorded again"] += 1
        elif one.attempt.status not in _KNOWN:
            left_out[f"graded as {one.attempt.status}"] += 1
        else:
            seen.add(one.draw)
            statuses[one.problem.question].append(one.attempt.status)
            methods[one.method] += 1
            models[one.model or "unknown"] += 1
    rates = {q: PassRate(found.count("correct"), len(found)) for q, found in statuses.items()}
    return Counted(rates, dict(methods), dict(models), dict(left_out))


@dataclass(frozen=True, slots=True)
class Bare:
    """A rollout that saw the problem alone."""

    problem: Problem
    method: str
    model: str
    draw: str
    """Equal for what was drawn alike."""
    attempt: GradedAttempt


def bare(runs: Iterable[Recorded]) -> Iterator[Bare]:
    """All rollouts of `runs` that saw the problem alone."""
    for run in runs:
        for entrant, problem, rows in run.jobs():
            if not begins_bare(entrant.label):
                continue
            for row in rows:
                for one in (a for a in row.attempts if a.mode == "initial"):
                    draw = _draw(run, entrant, problem, row, one)
                    yield Bare(problem, entrant.label, run.model(entrant), draw, one)


def begins_bare(label: str) -> bool:
    """Whether what a method calls `initial` is a plain answer to the normal prompt."""
    plain = label.partition("[")[0]
    return "solution_initial" in find(label).prompts and plain not in _REWORKED


def _draw(
    run: Recorded, entrant: Entrant, problem: Problem, row: Row, attempt: GradedAttempt
) -> str:
    endpoint = entrant.settings.endpoint("solution")
    if not endpoint.send_seed:  # each is a draw of its own
        return digest(
            str(run.folder.resolve()), *map(str, (*row.key, attempt.index)), problem.question
        )
    place = Place(problem.id, row.iteration, "solution", attempt.index)
    seed = seed_of(entrant.settings.seed, place)
    sampling = [str(getattr(endpoint, name)) for name in _SAMPLING]
    template = run.plan.prompts.get(entrant.label, {}).get("solution_initial", "")
    return digest(problem.question, run.model(entrant), str(seed), template, *sampling)
