r"""A script that plays the five agents of TMAS, without a model and always the same.

Every reply depends on the messages, the seed and the choice index only. Each carries a marker
with a hash of those, so that a test sees which text reached which prompt: SOL (solution), VER
(verification), SUM (summary), EXP (each experience item), STRAT (each strategy), THINK (thinking).
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from endpoints.protocol import Messages, Request, ScriptedReply, text_of

TASK = "# Your task:"
"""The last line that begins so names the role's task; without one, the whole text is searched."""
ROLES = (
    ("audit the review", "audit"),
    ("repair the proposed solution", "solution_refine"),
    ("improve your solution", "solution_improve"),
    ("write the next step", "solution_step"),
    ("value the steps so far", "value"),
    ("combine the candidate solutions", "solution_combine"),
    ("condense the candidate solutions", "summary_condense"),
    ("solve it again with the notes", "solution_noted"),
    ("best candidates", "pick"),
    ("reconsider your answer", "solution_debate"),
    ("distil the attempt", "experience_distil"),
    ("solve the problem with what is known of it", "solution_guided"),
    ("check the proposed solution", "verification"),
    ("summarise the checks", "summary"),
    ("note what the next attempts can reuse", "experience"),
    ("list the strategies that were tried", "guideline"),
    ("improve on the earlier attempts", "solution_exploit"),
    ("solve the problem in a new way", "solution_explore"),
    ("solve the problem", "solution_initial"),
)
"""Words that a template's task holds, and its role; the first that fits."""
MARKERS = ("SOL", "VER", "SUM", "EXP", "STRAT", "THINK")


def role_of(messages: Messages) -> str:
    """The role and mode that `messages` ask for, or "unknown"."""
    text = text_of(messages)
    begin = text.rfind(TASK)
    task = text[begin:].partition("\n")[0] if begin >= 0 else text
    return next((role for words, role in ROLES if words in task), "unknown")


def markers(kind: str, text: str | None) -> frozenset[str]:
    """The markers of one kind (one of `MARKERS`) in a text."""
    return frozenset(re.findall(rf"\b{kind}-[0-9a-f]{{12}}\b", text or ""))


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Least and most characters of each kind of text, without marker and box."""

    solution: tuple[int, int] = (2000, 4000)
    verification: tuple[int, int] = (800, 1200)
    summary: tuple[int, int] = (400, 800)
    item: tuple[int, int] = (80, 160)
    essence: tuple[int, int] = (60, 140)
    thinking: tuple[int, int] = (300, 600)


SHORT = Lengths(
    solution=(80, 160),
    verification=(60, 120),
    summary=(40, 80),
    item=(40, 80),
    essence=(30, 60),
    thinking=(40, 80),
)
"""For tests in which the size of the texts does not matter."""


@dataclass(frozen=True, kw_only=True)
class Reasoner:
    """The script; an instance is called with a request and the index of a choice."""

    right: str = "42"
    wrong: tuple[str, ...] = ("41", "7", "13", "84")
    chance: float | Mapping[str, float] = 0.6
    """Of the right answer; or by role, e.g. {"solution_exploit": 0.8}, 0.6 where it has none."""
    scores_of_right: tuple[float, float, float] = (0.7, 0.2, 0.1)
    """Chances of the scores 1, 0.5 and 0 for a solution with the right answer."""
    scores_of_wrong: tuple[float, float, float] = (0.15, 0.25, 0.6)
    items: int = 3
    """Experience items in a reply."""
    strategies: int = 2
    """Strategies in a reply."""
    lengths: Lengths = field(default_factory=Lengths)
    thinks: bool = True

    def __call__(self, request: Request, choice: int) -> ScriptedReply:
        """The reply of the agent that the request asks; a solution where it can't be told."""
        hashed = request.draw(choice)
        rng = random.Random(hashed)
        thinking = f"THINK-{hashed[:12]} {prose(rng, self.lengths.thinking)}" if self.thinks else ""
        play = {
            "verification": self._verification,
            "audit": self._verification,
            "value": self._value,
            "pick": self._pick,
            "summary": self._summary,
            "experience": self._experience,
            "guideline": self._guideline,
        }.get(request.agent, self._solution)
        return ScriptedReply(text=play(request, hashed[:12], rng), thinking=thinking)

    def _solution(self, request: Request, mark: str, rng: random.Random) -> str:
        chance = self.chance
        if isinstance(chance, Mapping):
            chance = chance.get(request.role, 0.6)
        answer = self.right if rng.random() < chance else rng.choice(self.wrong)
        steps = prose(rng, self.lengths.solution)
        return f"SOL-{mark}. {steps}\n\nTherefore the answer is \\boxed{{{answer}}}"

    def _verification(self, request: Request, mark: str, rng: random.Random) -> str:
        right = f"\\boxed{{{self.right}}}" in request.text
        chances = self.scores_of_right if right else self.scores_of_wrong
        score = rng.choices(("1", "0.5", "0"), chances)[0]
        return f"VER-{mark}. {prose(rng, self.lengths.verification)}\n\nScore: \\boxed{{{score}}}"

    def _value(self, request: Request, mark: str, rng: random.Random) -> str:
        word = rng.choice(("sure", "likely", "impossible"))
        return f"VER-{mark}. {prose(rng, self.lengths.verification)}\n\n\\boxed{{{word}}}"

    def _pick(self, request: Request, mark: str, rng: random.Random) -> str:
        count = len(re.findall(r"^## Solution \d+$", request.text, re.MULTILINE))
        numbers = rng.sample(range(1, count + 1), count)
        return f"VER-{mark}.\n\n\\boxed{{{', '.join(map(str, numbers))}}}"

    def _summary(self, request: Request, mark: str, rng: random.Random) -> str:
        return f"SUM-{mark}: {prose(rng, self.lengths.summary, paragraphs=False)}"

    def _experience(self, request: Request, mark: str, rng: random.Random) -> str:
        kinds = rng.choices(("conclusion", "technique", "pitfall"), k=self.items)
        return "\n".join(
            f"- [{kind}] EXP-{_mark(rng)} {prose(rng, self.lengths.item, paragraphs=False)}"
            for kind in kinds
        )

    def _guideline(self, request: Request, mark: str, rng: random.Random) -> str:
        shown = len(re.findall(r"^## Attempt \d", request.text, re.M)) or 1
        return "\n".join(
            f"- STRAT-{_mark(rng)} {' '.join(rng.choices(_WORDS, k=3))}: "
            f"{prose(rng, self.lengths.essence, paragraphs=False)} "
            f"(attempt {rng.randint(1, shown)}): {' '.join(rng.choices(_WORDS, k=4))}"
            for _ in range(self.strategies)
        )

    def short(self) -> "Reasoner":
        """The same with short texts."""
        return replace(self, lengths=SHORT)


def prose(rng: random.Random, between: tuple[int, int], *, paragraphs: bool = True) -> str:
    """Varied text of so many characters; gzip leaves about 40 % of it, as of English."""
    wanted = rng.randint(*between)
    words = rng.choices(_VOCABULARY, k=wanted // 6 + 1)
    words[11::12] = [f"{word}." for word in words[11::12]]
    text = " ".join(words)[:wanted].rstrip(" .\\") + "."
    return text.replace(". ", ".\n\n", 3) if paragraphs else text


def _mark(rng: random.Random) -> str:
    return f"{rng.getrandbits(48):012x}"


def _vocabulary() -> tuple[list[str], list[str]]:
    rng = random.Random(2026)
    heads = re.findall(r"\w+", "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zy")
    tails = re.findall(r"\w+", "l n r s t m nd st rk lt x ph")
    parts = [head + tail for head in heads for tail in tails] + heads
    words = ["".join(rng.choices(parts, k=rng.choice((1, 2, 2, 3)))) for _ in range(3000)]
    formulas = [f"${rng.choice('abkmnpqrxyz')}_{rng.randint(0, 99)}$" for _ in range(500)]
    numbers = [str(rng.randint(2, 9999)) for _ in range(500)]
    return words, words + formulas + numbers


_WORDS, _VOCABULARY = _vocabulary()
