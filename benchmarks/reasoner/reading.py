"""What the synthetic reasoner finds in a prompt: by reading it, and in no other way.

It reads as a language model would: statements like "c_{3} = 17" wherever they stand, approaches by
their names, scores and headings. What a template leaves out, a parser loses or the retrieval
doesn't offer, it can't know.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from reasoner.world import NAMES

_STATES = r"(?:=|equals|is equal to|is|:)"
_VALUE = re.compile(rf"\$?\b([a-z]\d*)_\{{?(\d+)\}}?\$?\s*{_STATES}\s*\$?(\d+)\b")
_DENIES = re.compile(
    r"not true|is wrong|are wrong|fails|isn't|is not|don't|doesn't|avoid|≠|mistake|refuted|instead of"
)
_ATTEMPT = re.compile(r"^## (?:Attempt|Candidate|Solution|Reference) (\d+)(.*)$", re.MULTILINE)
_SCORE = re.compile(r"score[^:\d]*:? *([01](?:\.\d+)?)")
_ITEM = re.compile(r"^- (?:(?P<id>E\d+) )?\[(?P<kind>\w+)\] (?P<text>.*)$", re.MULTILINE)
_LISTED = re.compile(r"^- (?:(?P<id>G\d+) )?(?P<name>[^:\n]+)(?::|$)", re.MULTILINE)
_BOXED = re.compile(r"\\boxed\{(\d+)\}")
_SECTION = re.compile(r"^# (.+)$", re.MULTILINE)
_NAMED = re.compile("|".join(re.escape(name) for name in sorted(NAMES, key=len, reverse=True)))

Claim = tuple[str, int]
"""A value's name, and what it is said to be."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An attempt as a prompt shows it."""

    number: int
    score: float | None
    strategy: str | None
    claims: frozenset[Claim]
    """What its text states."""
    confirmed: frozenset[Claim]
    """What its summary says that the checks confirm."""
    doubted: frozenset[Claim]
    """What its summary says is wrong."""
    corrections: frozenset[Claim]
    """What its summary says holds instead."""
    hopeless: bool
    """Whether its summary says that the approach can't succeed."""
    answer: int | None


@dataclass(frozen=True, slots=True)
class Noted:
    """An item of the experience bank as a prompt shows it."""

    id: str
    kind: str
    claim: Claim | None
    denied: bool
    """Whether the item says that the claim is wrong."""
    support: int
    strategy: str | None


@dataclass(frozen=True, slots=True)
class Read:
    """All that a prompt says."""

    code: str
    task: str
    attempts: tuple[Seen, ...] = ()
    items: tuple[Noted, ...] = ()
    listed: Mapping[str, str] = field(default_factory=dict)
    """Strategies of a list, with their ids where it gives some."""
    checks: tuple[str, ...] = ()
    solution: str = ""


def read(text: str) -> Read:
    """Read a prompt."""
    sections = dict(_sections(text))
    code = re.search(r"Puzzle ([0-9a-f]{8})", text)
    attempts = [body for head, body in sections.items() if _ATTEMPT.search(body)]
    items = [body for head, body in sections.items() if _is_experience(head)]
    listed = [body for head, body in sections.items() if head.startswith("Strategies")]
    checks = [body for head, body in sections.items() if head.startswith("Checks")]
    solution = next((b for h, b in sections.items() if h.startswith("Proposed solution")), "")
    task = next((head for head in reversed(sections) if head.startswith("Your task")), "")
    return Read(
        code=code[1] if code else "",
        task=task.removeprefix("Your task:").strip(),
        attempts=tuple(seen for body in attempts for seen in _attempts(body)),
        items=tuple(item for body in items for item in _items(body)),
        listed={name: id for body in listed for name, id in _listed(body)},
        checks=tuple(check for body in checks for check in re.split(r"^## Check.*$", body, flags=re.M)[1:]),
        solution=solution,
    )


def claims(text: str) -> list[Claim]:
    """Every "name = value" in `text`, in order."""
    return [(f"{m[1]}_{{{m[2]}}}", int(m[3])) for m in _VALUE.finditer(text)]


def strategy_of(text: str) -> str | None:
    """The approach that `text` names first."""
    found = _NAMED.search(text)
    return found[0] if found else None


def answer_of(text: str) -> int | None:
    """The last boxed number."""
    boxed = _BOXED.findall(text)
    return int(boxed[-1]) if boxed else None


def judged(check: str) -> tuple[set[Claim], set[Claim], set[Claim], bool]:
    """What one check confirms, what it doubts, what it holds instead, and is the approach lost?"""
    confirmed, doubted, instead = set[Claim](), set[Claim](), set[Claim]()
    for sentence in re.split(r"(?<=[.;])\s+", check):
        found = claims(sentence)
        if not found:
            continue
        if _DENIES.search(sentence):
            doubted.add(found[0])
            instead.update(claim for claim in found[1:] if claim[0] == found[0][0])
        else:
            confirmed.update(found)
    return confirmed, doubted, instead, "can't reach the goal" in check


def votes(attempts: Sequence[Seen]) -> Mapping[str, Counter[int]]:
    """For each value how much speaks for what: scores of who states it, and what checks say."""
    counts: dict[str, Counter[int]] = {}
    for seen in attempts:
        weight = 0.3 if seen.score is None else 0.2 + seen.score
        for name, value in seen.claims:
            counts.setdefault(name, Counter())[value] += int(100 * weight)
        for name, value in seen.confirmed:
            counts.setdefault(name, Counter())[value] += 60
        for name, value in seen.doubted:
            counts.setdefault(name, Counter())[value] -= 200
        for name, value in seen.corrections:
            counts.setdefault(name, Counter())[value] += 60
    return counts


def _sections(text: str) -> Iterator[tuple[str, str]]:
    for head, body in _blocks(_SECTION, text):
        yield head[1], body


def _blocks(heading: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each heading in `text` with what stands below it."""
    heads = list(heading.finditer(text))
    for head, following in zip_longest(heads, heads[1:]):
        yield head, text[head.end() : following.start() if following else len(text)]


def _is_experience(head: str) -> bool:
    return head.startswith(("Experience", "What is noted", "From other"))


def _attempts(body: str) -> Iterator[Seen]:
    for head, text in _blocks(_ATTEMPT, body):
        found = re.search(r"^What the checks found: (.*)$", text, re.MULTILINE)
        summary = found[1] if found else ""
        solution = text.replace(found[0], "") if found else text
        confirmed, doubted, instead, hopeless = judged(summary)
        score = _SCORE.search(head[2])
        yield Seen(
            number=int(head[1]),
            score=float(score[1]) if score else None,
            strategy=strategy_of(solution) or strategy_of(summary),
            claims=frozenset(claims(solution)),
            confirmed=frozenset(confirmed),
            doubted=frozenset(doubted),
            corrections=frozenset(instead),
            hopeless=hopeless,
            answer=answer_of(solution),
        )


def _items(body: str) -> Iterator[Noted]:
    for found in _ITEM.finditer(body):
        text = found["text"]
        said = claims(text)
        support = re.search(r"\(supported by (\d+)\)", text)
        yield Noted(
            id=found["id"] or "",
            kind=found["kind"],
            claim=said[0] if said else None,
            denied=bool(_DENIES.search(text)),
            support=int(support[1]) if support else 0,
            strategy=strategy_of(text),
        )


def _listed(body: str) -> Iterator[tuple[str, str]]:
    for line in body.splitlines():
        if line.startswith("- also tried:"):
            for part in line.removeprefix("- also tried:").split(";"):
                if name := strategy_of(part):
                    found = re.search(r"\bG\d+\b", part)
                    yield name, found[0] if found else ""
        elif (found := _LISTED.match(line)) and (name := strategy_of(found["name"])):
            yield name, found["id"] or ""
