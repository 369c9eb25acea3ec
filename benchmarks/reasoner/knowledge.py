"""What a prompt tells someone who is about to write a solution: values, errors, approaches."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.reasoner.reading import Noted, Read, Seen
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.statements import Claim, Finding, claims, finding, strategy_of

_COUNTED = re.compile(r"in (\d+) of \d+ solutions")
_UNSCORED = 0.5
"""What an attempt without a score counts like."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a solver takes from a prompt."""

    trusted: Mapping[str, int] = field(default_factory=dict)
    """Values that are said to hold."""
    likely: Mapping[str, int] = field(default_factory=dict)
    """Values on which attempts agree, or that a check proposes."""
    wrong: Mapping[str, frozenset[int]] = field(default_factory=dict)
    approaches: Mapping[str, float] = field(default_factory=dict)
    """How much speaks for each approach that is shown."""
    lost: frozenset[str] = frozenset()
    """Approaches that are said to be dead ends."""


def of_attempts(seen: Read, skill: Skill) -> Knowledge:
    """What attempts, with scores and summaries or without, and a bank's items tell."""
    trusted, wrong = _remembered(seen.items)
    lost = {i.strategy for i in seen.items if i.strategy and i.claim is None and i.denied}
    approaches: dict[str, float] = {}
    for one in seen.attempts:
        if one.strategy:
            weight = _worth(one, skill) * (skill.clings if one.strategy in lost else 1)
            approaches[one.strategy] = approaches.get(one.strategy, 0) + weight
    for one in seen.attempts:
        _add(wrong, one.found.doubted)
    return Knowledge(trusted, _agreed(seen.attempts), _frozen(wrong), approaches, frozenset(lost))


def of_reviews(seen: Read) -> Knowledge:
    """What a solution and what reviewers say of it tell who is to repair it."""
    found = [finding(check) for check in seen.checks]
    doubts = Counter(claim for one in found for claim in one.doubted)
    instead = Counter(claim for one in found for claim in one.corrections)
    holds = Counter(claim for one in found for claim in one.confirmed)
    kept, likely = dict[str, int](), dict[str, int]()
    wrong: dict[str, set[int]] = {}
    for claim in dict(claims(seen.solution)).items():
        if doubts[claim] > max(0, holds[claim] / 2):
            _add(wrong, [claim])
            others = [(n, value) for (name, value), n in instead.items() if name == claim[0]]
            if others:
                likely[claim[0]] = max(others)[1]
        else:
            kept[claim[0]] = claim[1]
    strategy = strategy_of(seen.solution)
    lost = sum(one.hopeless for one in found) > len(found) / 2
    approaches = {strategy: 1.0} if strategy else {}
    gone = frozenset({strategy} if strategy and lost else ())
    return Knowledge(kept, likely, _frozen(wrong), approaches, gone)


def of_notes(seen: Read) -> Knowledge:
    """What notes on several solutions tell: what most of them state, and by which ideas."""
    tally, approaches = dict[str, Counter[int]](), Counter[str]()
    for line in seen.notes.splitlines():
        counted = _COUNTED.search(line)
        voices = int(counted[1]) if counted else 1
        for name, value in claims(line):
            tally.setdefault(name, Counter())[value] += voices
        if strategy := strategy_of(line):
            approaches[strategy] += voices
    return Knowledge(likely=_majorities(tally), approaches=approaches)


def _worth(seen: Seen, skill: Skill) -> float:
    score = _UNSCORED if seen.score is None else seen.score
    told = float((0.1 + score) ** skill.merit)
    return told * skill.clings if seen.found.hopeless else told


def _remembered(items: Iterable[Noted]) -> tuple[dict[str, int], dict[str, set[int]]]:
    """What the items say is so (of two, what more support), and what they say is wrong."""
    best: dict[str, tuple[int, int]] = {}
    wrong: dict[str, set[int]] = {}
    for item in items:
        if item.claim is None:
            continue
        name, value = item.claim
        if item.denied or item.kind == "pitfall":
            _add(wrong, [item.claim])
        elif name not in best or item.support > best[name][0]:
            best[name] = (item.support, value)
    return {name: value for name, (_, value) in best.items()}, wrong


def _agreed(attempts: Sequence[Seen]) -> dict[str, int]:
    tally: dict[str, Counter[int]] = {}
    for one in attempts:
        for name, value in one.claims:
            tally.setdefault(name, Counter())[value] += 1
        _count(tally, one.found)
    return _majorities(tally, least=min(2, len(attempts)))


def _count(tally: dict[str, Counter[int]], found: Finding) -> None:
    for name, value in (*found.confirmed, *found.corrections):
        tally.setdefault(name, Counter())[value] += 1
    for name, value in found.doubted:
        tally.setdefault(name, Counter())[value] -= 3


def _majorities(tally: Mapping[str, Counter[int]], least: int = 2) -> dict[str, int]:
    """For each name the value for which more than half of all voices speak, and `least`, if any."""
    found: dict[str, int] = {}
    for name, counts in tally.items():
        (value, most), voices = counts.most_common(1)[0], sum(n for n in counts.values() if n > 0)
        if most >= least and most > voices / 2:
            found[name] = value
    return found


def _add(wrong: dict[str, set[int]], found: Iterable[Claim]) -> None:
    for name, value in found:
        wrong.setdefault(name, set()).add(value)


def _frozen(wrong: Mapping[str, set[int]]) -> dict[str, frozenset[int]]:
    return {name: frozenset(values) for name, values in wrong.items()}
