"""How rules of choosing an answer compare, on the candidates of runs that were made.

A rule changes nothing of a run but its end, so that all of them are tried on the same candidates,
and differ by problem. Only methods whose candidates have scores, in several iterations, tell
something.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rich.markup import escape
from rich.table import Table

from benchmarks.arms import Job
from benchmarks.reasoner.runs import Ballot, Made
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.world import question, world
from tmas_graph.answers.select import How, Vote, chosen
from tmas_graph.evaluation.paired import difference


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to choose."""

    power: float = 1.0
    """To which a score is raised before it votes."""
    how: How = "weighted"
    last: int | None = None
    """Only the last so many iterations vote."""
    by_mean: bool = False
    """The answer with the highest mean score, however few gave it."""
    knows: bool = False
    """No rule, but the bound of all: the right answer wherever any candidate gave it."""


PLAIN = Rule()
"""Each candidate votes with its score."""
RULES: Mapping[str, Rule] = {
    "power 2": Rule(2),
    "power 3": Rule(3),
    "power 4": Rule(4),
    "power 8": Rule(8),
    "majority": Rule(how="majority"),
    "best score": Rule(how="best"),
    "mean score": Rule(by_mean=True),
    "last iteration": Rule(last=1),
    "last 3": Rule(last=3),
    "bound": Rule(knows=True),
}
"""TMAS's own is power 4."""


@dataclass(frozen=True, slots=True)
class Row:
    """A rule beside the plain one, for one entrant or for all of them."""

    entrant: str
    rule: str
    plain: float
    value: float
    """Its accuracy minus that of the plain one."""
    low: float
    high: float
    problems: int


def choice(ballots: Sequence[Ballot], rule: Rule) -> str | None:
    """The answer that the rule chooses."""
    end = max(ballot.iteration for ballot in ballots)
    votes = [
        Vote(b.answer, None if b.score is None else b.score**rule.power, b.iteration, b.index)
        for b in ballots
        if rule.last is None or b.iteration > end - rule.last
    ]
    # Answers are numbers here: equal ones are spelt alike.
    places = {answer: place for place, answer in enumerate(dict.fromkeys(v.answer for v in votes))}
    classes = tuple(None if vote.answer is None else places[vote.answer] for vote in votes)
    found = chosen(votes, classes, how=rule.how)
    if not rule.by_mean:
        return found.answer
    best = max(found.classes, key=lambda each: (each.score or 0.0, each.iteration), default=None)
    return best.answer if best else None


def compared(runs: Mapping[Job, Made]) -> list[Row]:
    """Every rule beside the plain one: for each TMAS, ablated or not, and over all of them."""
    of: dict[str, dict[Job, Made]] = {}
    for job, run in runs.items():
        if job.entrant.method.startswith("tmas"):
            of.setdefault(job.entrant.name, {})[job] = run
    own = {name: by_problem(mine, PLAIN) for name, mine in of.items()}
    rows = list[Row]()
    for rule_name, rule in RULES.items():
        by_entrant = {name: by_problem(mine, rule) for name, mine in of.items()}
        for name, values in by_entrant.items():
            rows.append(_row(name, rule_name, own[name], values))
        if by_entrant:
            plain, other = _pooled(own.values()), _pooled(by_entrant.values())
            rows.append(_row("all of them", rule_name, plain, other))
    return rows


def by_problem(runs: Mapping[Job, Made], rule: Rule) -> dict[str, float]:
    """How often the rule chooses the right answer, by problem."""
    found: dict[str, list[float]] = {}
    for job, run in runs.items():
        right = str(world(question(job.problem)[0], Skill().nature).answer)
        if rule.knows:
            good = any(ballot.answer == right for ballot in run.ballots)
        else:
            good = choice(run.ballots, rule) == right
        found.setdefault(f"p{job.problem}", []).append(float(good))
    return {problem: fmean(values) for problem, values in found.items()}


def table(rows: Sequence[Row]) -> Table:
    """A row for each entrant: accuracy by plain scores, and what each rule adds to it."""
    shown = Table("chosen by", "score", *RULES)
    for name in dict.fromkeys(row.entrant for row in rows):
        mine = [row for row in rows if row.entrant == name]
        cells = [f"{row.value:+.2f}{_sure(row)}" for row in mine]
        shown.add_row(escape(name), f"{mine[0].plain:.2f}", *cells)
    shown.caption = "* all of the 95 % interval, paired by problem, is on one side of zero"
    return shown


def _sure(row: Row) -> str:
    return "*" if row.low > 0 or row.high < 0 else ""


def _pooled(each: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean over entrants, by problem; problems that not all of them have are left out."""
    many = list(each)
    shared = set.intersection(*(set(one) for one in many))
    return {problem: fmean(one[problem] for one in many) for problem in sorted(shared)}


def _row(name: str, rule: str, plain: Mapping[str, float], other: Mapping[str, float]) -> Row:
    found = difference(plain, other)
    low, high = found.interval.low, found.interval.high
    return Row(name, rule, fmean(plain.values()), found.value, low, high, found.problems)
