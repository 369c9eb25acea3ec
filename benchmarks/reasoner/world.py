"""Problems with a hidden structure, so that one can tell what made a method right or wrong.

A problem is a code; all else follows from it. It can be attacked by several *strategies*, of which
few are *viable*, and those are seldom the ones that come to mind first. On the way a solution needs
*values*: some belong to the problem, whatever the strategy, others to one strategy. It is right if
its strategy is viable and all its values are right. Wrong values and wrong answers are seldom
random: most wrong solutions share one, the *attractor*, so that a majority can be wrong.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

NAMES = (
    "double counting", "generating functions", "strong induction", "infinite descent",
    "the pigeonhole principle", "an extremal argument", "modular arithmetic",
    "a telescoping sum", "a bijection to lattice paths", "linear recurrences",
    "the probabilistic method", "roots of unity filtering", "a graph colouring",
    "barycentric coordinates", "inversion", "complex numbers", "a potential function",
    "symmetric polynomials", "an exchange argument", "Burnside counting",
    "Lagrange interpolation", "a greedy construction", "vector projections",
    "convexity and Jensen", "a parity invariant", "transfer matrices",
    "the rearrangement inequality", "a monovariant", "finite differences", "a p-adic valuation",
    "spiral similarity", "Hall matchings",
)  # fmt: skip
"""Names of strategies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nature:
    """How hard problems are."""

    strategies: int = 12
    """That come to mind at all."""
    viable: int = 2
    easy: float = 0.1
    """Share of problems whose first strategy in mind is viable."""
    shared_values: int = 4
    """That every strategy needs."""
    own_values: int = 2
    """That one strategy needs on top."""
    habit: float = 1.6
    """How much more often the first strategies come to mind: exponent of Zipf's law."""
    attraction: float = 0.75
    """Share of wrong values and answers that are the one which all tend to."""


@dataclass(frozen=True, slots=True)
class Value:
    """An intermediate value that some strategy needs."""

    name: str
    """As solutions write it, for example c_{3}."""
    right: int
    tempting: int
    """The wrong value that most who go wrong find."""


class World:
    """The hidden structure of one problem."""

    def __init__(self, code: str, nature: Nature) -> None:
        """Lay out the problem whose code this is."""
        self.code, self.nature = code, nature
        rng = random.Random(f"{code} {nature}")
        self.strategies = tuple(rng.sample(NAMES, nature.strategies))
        """In the order in which they come to mind."""
        self.viable = frozenset(self._viable(rng))
        self._own = {name: f"d{place}" for place, name in enumerate(self.strategies)}
        names = [f"c_{{{k}}}" for k in range(1, nature.shared_values + 1)]
        for letter in self._own.values():
            names += [f"{letter}_{{{k}}}" for k in range(1, nature.own_values + 1)]
        self.values: Mapping[str, Value] = {name: _value(rng, name) for name in names}
        self.answer, self.attractor = rng.sample(range(100, 1000), 2)

    @cached_property
    def habits(self) -> Mapping[str, float]:
        """How readily each strategy comes to mind; they sum to 1."""
        raw = [1 / (place + 1) ** self.nature.habit for place in range(len(self.strategies))]
        return {name: weight / sum(raw) for name, weight in zip(self.strategies, raw, strict=True)}

    def needed(self, strategy: str) -> tuple[Value, ...]:
        """The values that a solution by `strategy` goes through, in order."""
        shared = [f"c_{{{k}}}" for k in range(1, self.nature.shared_values + 1)]
        letter = self._own[strategy]
        own = [f"{letter}_{{{k}}}" for k in range(1, self.nature.own_values + 1)]
        return tuple(self.values[name] for name in (*shared, *own))

    def outcome(self, strategy: str, found: Mapping[str, int], rng: random.Random) -> int:
        """The answer to which `strategy` leads with the values `found`."""
        right = all(found[value.name] == value.right for value in self.needed(strategy))
        if right and strategy in self.viable:
            return self.answer
        if rng.random() < self.nature.attraction:
            return self.attractor
        other = rng.randrange(100, 999)
        return other + (other >= self.answer)

    def derived(
        self, value: Value, chance: float, avoid: frozenset[int], rng: random.Random
    ) -> int:
        """What someone finds who derives `value` and is right with `chance`.

        Who knows that some values are wrong doesn't find those again.
        """
        if rng.random() < chance:
            return value.right
        if value.tempting not in avoid and rng.random() < self.nature.attraction:
            return value.tempting
        if avoid and rng.random() < chance:  # looks again, with care
            return value.right
        return rng.choice([n for n in range(1, 100) if n != value.right and n not in avoid])

    def draw(self, name: str) -> float:
        """A number in [0, 1) that belongs to the value `name`: alike for all who look at it."""
        return random.Random(f"{self.code} {name} draw").random()

    def _viable(self, rng: random.Random) -> list[str]:
        first = rng.random() < self.nature.easy
        hidden = rng.sample(self.strategies[2:] or self.strategies, self.nature.viable)
        return [self.strategies[0], *hidden[1:]] if first else hidden


@lru_cache(maxsize=10_000)
def world(code: str, nature: Nature) -> World:
    """The world of the problem with this code."""
    return World(code, nature)


def question(number: int) -> tuple[str, str]:
    """Code and text of problem `number`; the text holds nothing of the structure."""
    code = f"{random.Random(f'problem {number}').getrandbits(32):08x}"
    return code, (
        f"Puzzle {code}. The table of this puzzle is filled by the usual rule from its code, and "
        "c_{1}, c_{2}, … count its closed regions. Find the number of admissible fillings."
    )


def _value(rng: random.Random, name: str) -> Value:
    right, tempting = rng.sample(range(1, 100), 2)
    return Value(name, right, tempting)
