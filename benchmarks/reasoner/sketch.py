"""TMAS drawn in outline around the synthetic reasoner: no prompts, parsers, embeddings or graph.

    python -m benchmarks.reasoner.sketch [--problems 100] [--habit 1.6] [--blind 0] [--only TMAS]

Its agents are handed what prompts would tell them if templates left nothing out, parsers lost
nothing and a bank showed all it has. So it says two things: what of a curve is the reasoner's doing
(the curves of `benchmarks.scaling` should be these; where they lie below, the project loses
something), and, as it costs a twentieth, how a promise depends on what the reasoner is like.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

from benchmarks.reasoner import checking, noting
from benchmarks.reasoner.reading import Noted, Read, Seen
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.solving import Solver
from benchmarks.reasoner.statements import answer_of, claims, denies, finding, strategy_of
from benchmarks.reasoner.world import Nature, question, world
from tmas_graph.agents.verification import score_of

_VERDICT = re.compile(r"- (support|refute) E(\d+)")
_NEW = re.compile(r"- \[(\w+)\] (.*)")


@dataclass(frozen=True, slots=True)
class Shape:
    """The settings of a run that matter here."""

    candidates: int = 6
    verifications: int = 6
    iterations: int = 8
    epsilon: float = 0.2
    experience: bool = True
    guideline: bool = True


@dataclass(slots=True)
class Banks:
    """What was carried so far."""

    attempts: tuple[Seen, ...] = ()
    items: list[Noted] = field(default_factory=list)
    listed: dict[str, str] = field(default_factory=dict)

    def note(self, reply: str) -> None:
        """Take in what the reasoner noted."""
        for line in reply.splitlines():
            if found := _VERDICT.match(line):
                place = int(found[2]) - 1
                item = self.items[place]
                good = found[1] == "support"
                more = {"support": item.support + 1} if good else {"denied": True}
                self.items[place] = replace(item, **more)
            elif found := _NEW.match(line):
                self.items.append(_noted(len(self.items) + 1, found[1], found[2]))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run stood after an iteration."""

    right: float
    selected: Mapping[float, bool]
    """By the power to which scores are raised before they vote; 1: as TMAS does."""


POWERS = (1.0, 2.0, 3.0, 4.0, 8.0)


def run(number: int, seed: int, skill: Skill, shape: Shape) -> list[Ended]:
    """Solve problem `number`."""
    code, _ = question(number)
    place, rng = world(code, skill.nature), random.Random(f"{number} {seed}")
    solver, banks, made = Solver(place, skill, rng), Banks(), list[Ended]()
    votes: dict[float, Counter[int | None]] = {power: Counter() for power in POWERS}
    for t in range(shape.iterations):
        candidates = [_candidate(solver, banks, shape, t) for _ in range(shape.candidates)]
        ranked = sorted(candidates, key=lambda one: one.score or 0.0, reverse=True)
        banks.attempts = tuple(replace(c.seen, number=k) for k, c in enumerate(ranked, 1))
        shown = Read(code, "", attempts=banks.attempts, items=tuple(banks.items))
        if shape.experience:
            banks.note(noting.extract(solver, shown))
        if shape.guideline:
            ways = [s.strategy for s in banks.attempts if s.strategy and rng.random() < skill.names]
            banks.listed.update((way, "") for way in ways)
        for power, counts in votes.items():
            for one in candidates:
                counts[one.answer] += (one.score or 0.0) ** power  # type: ignore[assignment]
        right = fmean(one.answer == place.answer for one in candidates)
        won = {
            power: counts.most_common(1)[0][0] == place.answer for power, counts in votes.items()
        }
        made.append(Ended(right, won))
    return made


@dataclass(frozen=True, slots=True)
class _Candidate:
    seen: Seen
    score: float | None
    answer: int | None


def _candidate(solver: Solver, banks: Banks, shape: Shape, t: int) -> _Candidate:
    seen = Read(solver.place.code, "")
    if t == 0:
        text = solver.initial(seen)
    elif solver.rng.random() < shape.epsilon:
        text = solver.explore(replace(seen, listed=banks.listed))
    else:
        known = replace(seen, attempts=banks.attempts, items=tuple(banks.items))
        text = solver.from_attempts(known)
    about = replace(seen, solution=text)
    checks = tuple(checking.verify(solver, about) for _ in range(shape.verifications))
    score = fmean(score_of(check) or 0.0 for check in checks)
    found = finding(checking.summarise(solver, replace(about, checks=checks)))
    stated = tuple(dict.fromkeys(claims(text)))
    return _Candidate(Seen(0, score, strategy_of(text), stated, found), score, answer_of(text))


def _noted(number: int, kind: str, text: str) -> Noted:
    said = claims(text)
    claim = said[0] if said else None
    return Noted(f"E{number}", kind, claim, denies(text), 0, strategy_of(text))


def _line(name: str, runs: Iterable[list[Ended]]) -> str:
    many = list(runs)
    last = len(many[0]) - 1
    rises = " ".join(
        f"{fmean(one[t].right for one in many):.2f}" for t in (0, last // 2, last - 2, last)
    )
    chosen = " ".join(f"{fmean(one[-1].selected[p] for one in many):.2f}" for p in POWERS)
    return f"{name:24} Pass@1 {rises} | selected, scores to the power 1 2 3 4 8: {chosen}"


def _rows(skill: Skill, own: Shape) -> dict[str, tuple[Skill, Shape]]:
    """TMAS, its ablations, its grids, and worse checks."""
    shapes = {
        "TMAS": own,
        "no experience": replace(own, experience=False),
        "no guideline": replace(own, guideline=False),
        "neither": replace(own, experience=False, guideline=False),
        **{f"ε {e:g}": replace(own, epsilon=e) for e in (0.0, 0.1, 0.4, 0.7, 1.0)},
        **{f"N {n}": replace(own, candidates=n) for n in (2, 4, 12)},
        **{f"M {m}": replace(own, verifications=m) for m in (1, 2, 4, 16)},
    }
    noisy = {f"noise {x:g}": (skill.with_noise(x), own) for x in (0.25, 0.5, 0.75, 1.0)}
    return {name: (skill, shape) for name, shape in shapes.items()} | noisy


def main() -> None:
    """Print what becomes of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--habit", type=float, default=Nature().habit)
    parser.add_argument("--blind", type=float, default=Skill().blind)
    parser.add_argument("--iterations", type=int, default=Shape().iterations)
    parser.add_argument("--only", default="", help="rows whose names match this expression")
    options = parser.parse_args()
    skill = Skill(nature=Nature(habit=options.habit), blind=options.blind)
    for name, (whose, shape) in _rows(skill, Shape(iterations=options.iterations)).items():
        if re.search(options.only, name):
            runs = (run(number, 0, whose, shape) for number in range(options.problems))
            print(_line(name, runs), flush=True)


if __name__ == "__main__":
    main()
