"""Replies of realistic length and compressibility, cut out of one long text that was made once."""

import random
import re
from dataclasses import dataclass
from functools import cache

TASK = "# Your task: "
_ROLES = {
    "check": "verification",
    "summarise": "summary",
    "note": "experience",
    "list": "guideline",
}
"""The first word of a template's task, and whose it is; any other one is the solver's."""
_POOL = 2_000_000
_ANSWERS = ("42", "41", "7", "84")
_WORD = re.compile(r"[a-z]{4,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Characters of each kind of text; one reply has between two thirds and four thirds of them."""

    solution: int = 6000
    verification: int = 2000
    summary: int = 800
    item: int = 120
    items: int = 3
    """Experience items in a reply, and strategies."""


def role_of(prompt: str) -> str:
    """Whose prompt it is, by the last line that states a task."""
    _, _, task = prompt.rpartition(TASK)
    return _ROLES.get(task.partition(" ")[0], "solution")


def reply(prompt: str, drawn: int, sizes: Sizes) -> str:
    """What the agent says to whom `prompt` is put; always the same for the same draw."""
    rng, role = random.Random(drawn), role_of(prompt)
    if role == "verification":
        return f"{_prose(rng, sizes.verification)}\n\n\\boxed{{{rng.choice(('1', '0.5', '0'))}}}"
    if role == "summary":
        return _prose(rng, sizes.summary)
    if role == "experience":
        kinds = rng.choices(("conclusion", "technique", "pitfall"), k=sizes.items)
        return "\n".join(f"- [{kind}] {_line(rng, sizes.item)}" for kind in kinds)
    if role == "guideline":
        return "\n".join(_strategy(rng, sizes) for _ in range(sizes.items))
    answer = rng.choices(_ANSWERS, (5, 2, 2, 1))[0]
    return f"{_prose(rng, sizes.solution)}\n\nThe answer is \\boxed{{{answer}}}"


def _strategy(rng: random.Random, sizes: Sizes) -> str:
    name = " ".join(_WORD.findall(_line(rng, 60))[:3])
    return f"- {name}: {_line(rng, sizes.item)} (attempt {rng.randint(1, 2)}): {_line(rng, 30)}"


def _line(rng: random.Random, size: int) -> str:
    return _prose(rng, size).replace("\n", " ")


def _prose(rng: random.Random, size: int) -> str:
    length = rng.randint(2 * size // 3, 4 * size // 3)
    begin = rng.randrange(_POOL - length)
    return _pool()[begin : begin + length].strip()


@cache
def _pool() -> str:
    """Words as frequent as those of a language, with formulas; gzip leaves about 40 % of it."""
    rng = random.Random(2026)
    words = [
        "".join(rng.choices("etaoinshrdlucm", k=rng.choice((2, 4, 5, 7)))) for _ in range(3000)
    ]
    signs = [f"$x_{{{rng.randint(0, 40)}}} = {rng.randint(2, 9999)}$" for _ in range(400)]
    ranked = words + signs
    rng.shuffle(ranked)
    weights = [1 / (rank + 20) for rank in range(len(ranked))]
    chosen = rng.choices(ranked, weights, k=_POOL // 4)
    chosen[13::14] = [f"{word}.\n" if rng.random() < 0.2 else f"{word}." for word in chosen[13::14]]
    text = " ".join(chosen)
    return text[:_POOL]
