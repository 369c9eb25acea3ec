r"""How the synthetic reasoner writes solutions, in each of the ways that prompts ask for.

It settles on an approach, takes over or derives each value that this needs, and gives the answer
to which they lead. It never learns whether that is right.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from benchmarks.reasoner import knowledge
from benchmarks.reasoner.knowledge import Knowledge
from benchmarks.reasoner.reading import Read
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.statements import Claim, answer_of, claims, strategy_of
from benchmarks.reasoner.world import Value, World

FILLER = (
    "Expanding both sides and collecting terms leaves only the boundary contributions. ",
    "The cases that remain are symmetric, so one of them is enough. ",
    "Here the usual argument applies once more, since the order of the regions doesn't matter. ",
    "Checking the smallest instances by hand confirms the pattern. ",
    "It remains to count what was left out, which the table gives. ",
)
_NOTHING = Knowledge()
_VALUES_A_STEP = 2


@dataclass(frozen=True, slots=True)
class Look:
    """What someone finds who looks through a solution."""

    wrong: frozenset[str] = frozenset()
    """Names of the values that seem wrong."""
    lost: bool = False
    """Whether the approach seems to be a dead end."""
    faults: int = 0
    """How much seems wrong: a value is one fault, an approach two; two or more fail a solution."""


class Solver:
    """Writes solutions of one problem."""

    def __init__(self, place: World, skill: Skill, rng: random.Random) -> None:
        """Work on `place`, which only `derived` and `outcome` ask about what is right."""
        self.place, self.skill, self.rng = place, skill, rng

    def initial(self, seen: Read) -> str:
        """Take the approach that comes to mind, and derive every value."""
        return self._written(self.drawn(self.place.habits), _NOTHING)

    def explore(self, seen: Read) -> str:
        """Take another approach than those listed; with none listed, than one's first idea."""
        avoided = list(seen.listed) or [self.place.strategies[0]]
        told = {name for name in avoided if self.rng.random() < self.skill.obeys}
        left = {name: w for name, w in self.place.habits.items() if name not in told}
        return self._written(self.drawn(left or self.place.habits), _NOTHING)

    def from_attempts(self, seen: Read) -> str:
        """Exploit, combine, or go by a bank: reuse what is known, redo what is doubted."""
        known = knowledge.of_attempts(seen, self.skill)
        return self._written(self._approach(known), known)

    def from_reviews(self, seen: Read) -> str:
        """Repair a solution."""
        known = knowledge.of_reviews(seen)
        if known.lost and self.rng.random() < self.skill.leaves:
            known = replace(known, approaches={})
        written = self._written(self._approach(known), known)
        return self._graded(written) if seen.graded else written

    def from_notes(self, seen: Read) -> str:
        """Write a solution with notes on others."""
        known = knowledge.of_notes(seen)
        return self._written(self._approach(known), known)

    def reconsider(self, seen: Read) -> str:
        """Hear what the others say, in full or condensed, and go by the more convincing way."""
        others = knowledge.of_notes(seen) if seen.notes else knowledge.of_attempts(seen, self.skill)
        own = strategy_of(seen.solution)
        approaches = dict(others.approaches)
        if own:
            approaches[own] = approaches.get(own, 0) + max(approaches.values(), default=1)
        known = Knowledge(others.trusted, others.likely, others.wrong, approaches)
        return self._written(self._approach(known), known)

    def improve(self, seen: Read) -> str:
        """Look through one's own solution, and redo what one doubts."""
        stated = dict(claims(seen.solution))
        doubted = self.look(stated.items(), strategy_of(seen.solution)).wrong
        known = Knowledge(
            trusted={name: value for name, value in stated.items() if name not in doubted},
            wrong={name: frozenset({stated[name]}) for name in doubted},
            approaches={strategy: 1.0} if (strategy := strategy_of(seen.solution)) else {},
        )
        return self._written(self._approach(known), known)

    def self_graded(self, seen: Read) -> str:
        """Solve, and grade oneself."""
        return self._graded(self.initial(seen))

    def next_step(self, seen: Read) -> str:
        """Go on by two values; the last step gives the answer."""
        strategy = strategy_of(seen.steps) or self.drawn(self.place.habits)
        found = dict(claims(seen.steps))
        needed = [v for v in self.place.needed(strategy) if v.name not in found]
        lines = [] if found else [f"Approach: {strategy}."]
        for value in needed[:_VALUES_A_STEP]:
            found[value.name] = self._found(value, _NOTHING)
            lines.append(f"{self.filler()}Hence ${value.name} = {found[value.name]}$.")
        if len(needed) <= _VALUES_A_STEP:
            lines.append(self._ending(strategy, found))
        return " ".join(lines)

    def doubts(self, name: str, stated: int) -> bool:
        """Whether a look at "name = stated" finds it wrong."""
        value = self.place.values.get(name)
        if value is None:
            return False
        skill, chance = self.skill, self.skill.sees_slip
        if stated == value.right:
            chance = skill.false_alarm
        elif stated == value.tempting:
            chance = skill.seen(self.place.draw(name) < skill.blind)
        return self.rng.random() < chance

    def doubts_way(self, strategy: str | None) -> bool:
        """Whether a look at the approach finds that it can't reach the goal."""
        alarm = self.skill.false_alarm if strategy in self.place.viable else None
        return self.rng.random() < (self.skill.sees_dead_end if alarm is None else alarm)

    def look(self, stated: Iterable[Claim], strategy: str | None) -> Look:
        """Look through what a solution states; one that is a coin fails half of all."""
        told = dict(stated)
        if self.rng.random() < self.skill.coins:
            if self.rng.random() < 0.5:
                return Look()
            blamed = self.rng.choice([*told, None])
            return Look(frozenset([blamed] if blamed else []), blamed is None, faults=2)
        wrong = frozenset(name for name, value in told.items() if self.doubts(name, value))
        lost = self.doubts_way(strategy)
        return Look(wrong, lost, len(wrong) + 2 * lost)

    def redone(self, name: str, stated: int) -> int:
        """What someone gets who takes "name = stated" for wrong."""
        value = self.place.values[name]
        mine = self.place.derived(value, self.skill.derives, frozenset({stated}), self.rng)
        return mine if mine != stated else value.tempting

    def drawn(self, weights: Mapping[str, float]) -> str:
        """One of the names, by weight."""
        names = sorted(weights)
        return self.rng.choices(names, [weights[name] for name in names])[0]

    def filler(self) -> str:
        """A sentence that says nothing."""
        return self.rng.choice(FILLER)

    def _approach(self, known: Knowledge) -> str:
        shown = {n: w for n, w in known.approaches.items() if n in self.place.habits and w > 0}
        if shown and self.rng.random() < self.skill.fixates:
            return self.drawn(shown)
        left = {n: w for n, w in self.place.habits.items() if not self._shuns(n, known)}
        return self.drawn(left or self.place.habits)

    def _shuns(self, strategy: str, known: Knowledge) -> bool:
        return strategy in known.lost and self.rng.random() < self.skill.obeys

    def _written(self, strategy: str, known: Knowledge) -> str:
        found = {v.name: self._found(v, known) for v in self.place.needed(strategy)}
        lines = [f"Approach: {strategy}. {self.filler()}"]
        lines += [f"{self.filler()}Hence ${name} = {value}$." for name, value in found.items()]
        return "\n\n".join([*lines, self._ending(strategy, found)])

    def _ending(self, strategy: str, found: Mapping[str, int]) -> str:
        answer = self.place.outcome(strategy, found, self.rng)
        return f"Putting these together, the answer is \\boxed{{{answer}}}."

    def _found(self, value: Value, known: Knowledge) -> int:
        wrong = known.wrong.get(value.name, frozenset())
        trusted, likely = known.trusted.get(value.name), known.likely.get(value.name)
        if trusted is not None and self.rng.random() < self.skill.reuses:
            return trusted
        if likely is not None and likely not in wrong and self.rng.random() < self.skill.follows:
            return likely
        return self.place.derived(value, self.skill.derives, wrong, self.rng)

    def _graded(self, written: str) -> str:
        faults = self.look(claims(written), strategy_of(written)).faults
        score = "1" if not faults else "0.5" if faults == 1 else "0"
        doubt = "I see no gap." if not faults else f"I am not sure of {faults} steps."
        # The assessment says no value again, so that nobody reads it as part of the solution.
        return f"{written}\n\nSelf-assessment: {doubt}\nSelf-score: {score}"


def same_answer(first: str, second: str) -> bool:
    """Whether two answers state the same number."""
    one, other = answer_of(f"\\boxed{{{first}}}"), answer_of(f"\\boxed{{{second}}}")
    return first == second if one is None else one == other
