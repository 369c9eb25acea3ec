"""How the synthetic reasoner notes what attempts have shown: items, strategies, notes."""

from collections import Counter

from benchmarks.reasoner.reading import Read, Seen
from benchmarks.reasoner.solving import Solver
from benchmarks.reasoner.statements import LOST, Claim, claims, strategy_of

_PHRASES = (
    "${} = {}$", "we have ${} = {}$", "${}={}$ holds", "the value of ${}$ is ${}$",
    "${}$ equals ${}$",
)  # fmt: skip


def extract(solver: Solver, seen: Read) -> str:
    """Note what the summaries confirm, in ever new words, and judge what is noted already."""
    speaks, against = Counter[Claim](), Counter[Claim]()
    for attempt in seen.attempts:
        speaks.update(attempt.found.confirmed)
        speaks.update(attempt.found.corrections)
        against.update(attempt.found.doubted)
    noted = {item.claim: item for item in seen.items if item.claim and not item.denied}
    lines = list[str]()
    for claim in sorted({*speaks, *against}):
        if solver.rng.random() > solver.skill.extracts:
            continue
        rivals = max((n for c, n in speaks.items() if c[0] == claim[0] and c != claim), default=0)
        holds = speaks[claim] - against[claim] >= 2 and speaks[claim] - against[claim] > rivals
        if item := noted.get(claim):
            if holds:
                lines.append(f"- support {item.id}")
            elif against[claim] >= 2 or rivals > speaks[claim] + 1:
                lines.append(f"- refute {item.id}: the checks find another value")
        elif holds:
            lines.append(f"- [conclusion] {_phrase(solver, claim)}")
        elif against[claim] >= 2:
            lines.append(f"- [pitfall] ${claim[0]} = {claim[1]}$ is wrong")
    return "\n".join([*lines, *_dead_ends(seen)]) or "NONE"


def name(solver: Solver, seen: Read) -> str:
    """Name the strategy of each attempt, in one line each, and how it ended."""
    by_name: dict[str, list[Seen]] = {}
    for attempt in seen.attempts:
        if attempt.strategy and solver.rng.random() < solver.skill.names:
            by_name.setdefault(attempt.strategy, []).append(attempt)
    lines = []
    for strategy, attempts in by_name.items():
        numbers = ", ".join(str(attempt.number) for attempt in attempts)
        label = seen.listed.get(strategy) or f"{strategy}: attack the table by {strategy}"
        ending = LOST if any(a.found.hopeless for a in attempts) else "open"
        lines.append(f"- {label} (attempts {numbers}): {ending}")
    return "\n".join(lines) or "NONE"


def distil(solver: Solver, seen: Read) -> str:
    """Note of one attempt, which nobody has checked, what a look through it leaves standing."""
    stated, strategy, lines = dict(claims(seen.solution)), strategy_of(seen.solution), list[str]()
    look = solver.look(stated.items(), strategy)
    for name, value in stated.items():
        if name in look.wrong:
            lines.append(f"- [pitfall] ${name} = {value}$ is wrong")
        elif solver.rng.random() < solver.skill.extracts:
            lines.append(f"- [conclusion] {_phrase(solver, (name, value))}")
    if look.lost:
        lines.append(f"- [pitfall] {strategy} {LOST}: it leaves a gap")
    return "\n".join(lines) or "NONE"


def condense(solver: Solver, seen: Read) -> str:
    """Write notes: which values and ideas how many solutions have, without a check of them."""
    many = len(seen.attempts)
    ways = Counter(one.strategy for one in seen.attempts if one.strategy)
    values = Counter(claim for one in seen.attempts for claim in one.claims)
    lines = [f"By {way}: in {n} of {many} solutions." for way, n in ways.most_common()]
    lines += [f"${c[0]} = {c[1]}$: in {n} of {many} solutions." for c, n in values.most_common()]
    return "\n".join(lines) or "The solutions say nothing definite."


def _dead_ends(seen: Read) -> list[str]:
    """Pitfalls about approaches that checks call dead ends, if none says so already."""
    known = {item.strategy for item in seen.items if item.claim is None}
    lost = Counter(one.strategy for one in seen.attempts if one.found.hopeless)
    ways = [way for way, count in lost.items() if way and count >= 2 and way not in known]
    return [f"- [pitfall] {way} {LOST}: it leaves a gap, avoid it" for way in ways]


def _phrase(solver: Solver, claim: Claim) -> str:
    return solver.rng.choice(_PHRASES).format(*claim)
