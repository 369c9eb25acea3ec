"""The synthetic reasoner's replies in every role of TMAS; each follows from the prompt and a seed."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping

from reasoner import reading
from reasoner.reading import Claim, Read, Seen
from reasoner.skill import Skill
from reasoner.world import Value, World, world

_PHRASES = ("${} = {}$", "we have ${} = {}$", "${}={}$ holds", "the value of ${}$ is ${}$", "${}$ equals ${}$")
_FILLER = (
    "Expanding both sides and collecting terms leaves only the boundary contributions. ",
    "The cases that remain are symmetric, so one of them is enough. ",
    "Here the usual argument applies once more, since the order of the regions doesn't matter. ",
    "Checking the smallest instances by hand confirms the pattern. ",
    "It remains to count what was left out, which the table gives. ",
)  # fmt: skip


class Player:
    """One reasoner; `reply` is all that it does."""

    def __init__(self, skill: Skill) -> None:
        """Play with this skill."""
        self.skill = skill

    def reply(self, text: str, seed: str) -> str:
        """The reply to the prompt `text`; the same for the same seed."""
        seen, rng = reading.read(text), random.Random(seed)
        place = world(seen.code, self.skill.nature)
        play = {
            "check the proposed solution": self.verify,
            "summarise the checks": self.summarise,
            "note what the next attempts can reuse": self.extract,
            "list the strategies that were tried": self.name,
            "improve on the earlier attempts": self.exploit,
            "solve the problem in a new way": self.explore,
        }.get(seen.task, self.initial)
        return play(place, seen, rng)

    # -- Solution ------------------------------------------------------------------------------

    def initial(self, place: World, seen: Read, rng: random.Random) -> str:
        """Take the approach that comes to mind, and derive every value."""
        return self._solve(place, _drawn(place.habits, rng), {}, {}, rng)

    def explore(self, place: World, seen: Read, rng: random.Random) -> str:
        """Take another approach than those listed, and derive every value."""
        listed = {name for name in seen.listed if rng.random() < self.skill.obeys}
        left = {name: w for name, w in place.habits.items() if name not in listed}
        return self._solve(place, _drawn(left or place.habits, rng), {}, {}, rng)

    def exploit(self, place: World, seen: Read, rng: random.Random) -> str:
        """Repair the attempts: stay with the best approach, reuse, and redo what is doubted."""
        strategy = self._approach(place, seen.attempts, rng)
        known, wrong = self._remembered(seen)
        for name, counts in reading.votes(seen.attempts).items():
            wrong.setdefault(name, set()).update(v for v, n in counts.items() if n < 0)
            [(value, weight)] = counts.most_common(1)
            agreed = weight > 0.5 * sum(n for n in counts.values() if n > 0) and weight > 100
            if agreed and name not in known and rng.random() < self.skill.follows:
                known[name] = value
        return self._solve(place, strategy, known, wrong, rng)

    def _approach(self, place: World, attempts: Iterable[Seen], rng: random.Random) -> str:
        weights: Counter[str] = Counter()
        for seen in attempts:
            if seen.strategy in place.habits and not seen.hopeless:
                weights[seen.strategy] += (0.05 + (seen.score or 0.0)) ** 2  # type: ignore[assignment]
        if weights and rng.random() < self.skill.imitates:
            return _drawn(weights, rng)
        return _drawn(place.habits, rng)

    def _remembered(self, seen: Read) -> tuple[dict[str, int], dict[str, set[int]]]:
        """What the experience that is shown says is so, and what it says is wrong."""
        best: dict[str, tuple[int, int]] = {}
        wrong: dict[str, set[int]] = {}
        for item in seen.items:
            if item.claim is None:
                continue
            name, value = item.claim
            if item.denied or item.kind == "pitfall":
                wrong.setdefault(name, set()).add(value)
            elif name not in best or item.support > best[name][0]:
                best[name] = (item.support, value)
        return {name: value for name, (_, value) in best.items()}, wrong

    def _solve(
        self,
        place: World,
        strategy: str,
        known: Mapping[str, int],
        wrong: Mapping[str, set[int]],
        rng: random.Random,
    ) -> str:
        found = {
            value.name: self._found(place, value, known, frozenset(wrong.get(value.name, ())), rng)
            for value in place.needed(strategy)
        }
        lines = [f"Approach: {strategy}. {rng.choice(_FILLER)}"]
        lines += [f"{rng.choice(_FILLER)}Hence ${name} = {value}$." for name, value in found.items()]
        answer = place.outcome(strategy, found, rng)
        return "\n\n".join([*lines, f"Putting these together, the answer is \\boxed{{{answer}}}."])

    def _found(
        self,
        place: World,
        value: Value,
        known: Mapping[str, int],
        wrong: frozenset[int],
        rng: random.Random,
    ) -> int:
        if value.name in known and rng.random() < self.skill.reuses:
            return known[value.name]
        return place.derived(value, self.skill.derives, wrong, rng)

    # -- Verification and Summary --------------------------------------------------------------

    def verify(self, place: World, seen: Read, rng: random.Random) -> str:
        """Redo each value of the solution; see some of the wrong ones, and doubt some right ones."""
        lines, flaws = [], 0
        for name, stated in dict(reading.claims(seen.solution)).items():
            value = place.values.get(name)
            if value is None:
                continue
            if rng.random() < self._doubts(value, stated):
                flaws += 1
                mine = self._redone(place, value, stated, rng)
                lines.append(f"The step with ${name} = {stated}$ fails; I get ${name} = {mine}$.")
            else:
                lines.append(f"I redid it, and ${name} = {stated}$.")
        strategy = reading.strategy_of(seen.solution)
        lost = strategy not in place.viable and rng.random() < self.skill.sees_dead_end
        if lost:
            lines.append(f"The approach itself can't reach the goal: {strategy} leaves a gap.")
        score = "1" if not (flaws or lost) else "0.5" if flaws == 1 and not lost else "0"
        return "\n".join([*lines, rng.choice(_FILLER), f"\\boxed{{{score}}}"])

    def _redone(self, place: World, value: Value, stated: int, rng: random.Random) -> int:
        """What a check finds that takes `stated` for wrong."""
        mine = place.derived(value, self.skill.derives, frozenset({stated}), rng)
        return mine if mine != stated else value.tempting

    def _doubts(self, value: Value, stated: int) -> float:
        if stated == value.right:
            return self.skill.false_alarm
        return self.skill.sees_temptation if stated == value.tempting else self.skill.sees_slip

    def summarise(self, place: World, seen: Read, rng: random.Random) -> str:
        """Say what most checks confirm, what several doubt and what they get instead."""
        confirmed, doubted = Counter[Claim](), Counter[Claim]()
        instead, lost = Counter[Claim](), 0
        for check in seen.checks:
            holds, fails, rather, hopeless = reading.judged(check)
            confirmed.update(holds)
            doubted.update(fails)
            instead.update(rather)
            lost += hopeless
        many, sentences = len(seen.checks), []
        for claim in dict.fromkeys(reading.claims(seen.solution)):
            name, stated = claim
            if doubted[claim] >= max(2, many / 4):
                rather = [(n, c[1]) for c, n in instead.items() if c[0] == name]
                other = f", and ${name} = {max(rather)[1]}$ is found instead" if rather else ""
                sentences.append(f"${name} = {stated}$ is wrong ({doubted[claim]} of {many} checks){other}.")
            elif confirmed[claim] > doubted[claim]:
                sentences.append(f"${name} = {stated}$ is confirmed ({confirmed[claim]} of {many}).")
        if lost >= max(2, many / 4):
            strategy = reading.strategy_of(seen.solution)
            sentences.append(f"The approach ({strategy}) can't reach the goal ({lost} of {many}).")
        return " ".join(sentences) or "The checks find nothing definite."

    # -- Experience and Guideline --------------------------------------------------------------

    def extract(self, place: World, seen: Read, rng: random.Random) -> str:
        """Note what the summaries confirm, in ever new words, and judge what is noted already."""
        speaks, against = Counter[Claim](), Counter[Claim]()
        for attempt in seen.attempts:
            speaks.update(attempt.confirmed)
            speaks.update(attempt.corrections)
            against.update(attempt.doubted)
        noted = {item.claim: item for item in seen.items if item.claim and not item.denied}
        lines = []
        for claim in sorted({*speaks, *against}):
            if rng.random() > self.skill.extracts:
                continue
            rivals = max((n for c, n in speaks.items() if c[0] == claim[0] and c != claim), default=0)
            good = speaks[claim] - against[claim]
            if item := noted.get(claim):
                if good >= 2 and good > rivals:
                    lines.append(f"- support {item.id}")
                elif against[claim] >= 2 or rivals > speaks[claim] + 1:
                    lines.append(f"- refute {item.id}: the checks find another value")
            elif good >= 2 and good > rivals:
                lines.append(f"- [conclusion] {_phrase(claim, rng)}")
            elif against[claim] >= 2:
                lines.append(f"- [pitfall] ${claim[0]} = {claim[1]}$ is wrong")
        return "\n".join(lines) or "NONE"

    def name(self, place: World, seen: Read, rng: random.Random) -> str:
        """Name the strategy of each attempt, in one line each, and how it ended."""
        by_name: dict[str, list[Seen]] = {}
        for attempt in seen.attempts:
            if attempt.strategy and rng.random() < self.skill.names:
                by_name.setdefault(attempt.strategy, []).append(attempt)
        lines = []
        for name, attempts in by_name.items():
            numbers = ", ".join(str(attempt.number) for attempt in attempts)
            label = seen.listed.get(name) or f"{name}: attack the table by {name}"
            ending = "can't reach the goal" if any(a.hopeless for a in attempts) else "open"
            lines.append(f"- {label} (attempts {numbers}): {ending}")
        return "\n".join(lines) or "NONE"


def _phrase(claim: Claim, rng: random.Random) -> str:
    return rng.choice(_PHRASES).format(*claim)


def _drawn(weights: Mapping[str, float], rng: random.Random) -> str:
    names = sorted(weights)
    return rng.choices(names, [weights[name] for name in names])[0]
