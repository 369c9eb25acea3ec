"""What the synthetic reasoner finds in a prompt: by reading it, and in no other way.

It goes by the headings of the templates and by what stands below them. What a template leaves out,
a parser loses or the retrieval doesn't offer, it can't know.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest

from benchmarks.reasoner.statements import Claim, Finding, claims, denies, finding, strategy_of

_ATTEMPT = re.compile(r"^## (?:Attempt|Solution) (\d+)(.*)$", re.MULTILINE)
_REVIEW = re.compile(r"^## (?:Check|Review) \d+.*$", re.MULTILINE)
_SCORE = re.compile(r"score[^:\d]*:? *([01](?:\.\d+)?)")
_ITEM = re.compile(r"^- (?:(?P<id>E\d+) )?(?:\[(?P<kind>\w+)\] )?(?P<text>.*)$", re.MULTILINE)
_LISTED = re.compile(r"^- (?:(?P<id>G\d+) )?(?P<name>[^:\n]+)(?::|$)", re.MULTILINE)
_SECTION = re.compile(r"^# (.+)$", re.MULTILINE)
_CODE = re.compile(r"Puzzle ([0-9a-f]{8})")
_FOUND = re.compile(r"^What the checks found: (.*)$", re.MULTILINE)
_EXPERIENCE = ("Experience", "What is noted", "From other", "Propositions")
_SOLUTIONS = ("Proposed solution", "Your first solution", "An attempt at it", "Your last answer")
_NOTES = ("Notes on", "What the others say, condensed")


@dataclass(frozen=True, slots=True)
class Seen:
    """An attempt as a prompt shows it."""

    number: int
    score: float | None
    strategy: str | None
    claims: tuple[Claim, ...]
    """What its text states, each once."""
    found: Finding
    """What its summary says of it."""


@dataclass(frozen=True, slots=True)
class Noted:
    """An item of a bank as a prompt shows it."""

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
    """Of the problem; empty if it shows none."""
    task: str
    """What it asks for; empty if it asks for nothing."""
    attempts: tuple[Seen, ...] = ()
    items: tuple[Noted, ...] = ()
    listed: Mapping[str, str] = field(default_factory=dict)
    """Strategies of a list, with their ids where it gives some."""
    checks: tuple[str, ...] = ()
    """Checks or reviews of the solution."""
    solution: str = ""
    """The one that it is about: proposed, or the reasoner's own."""
    notes: str = ""
    steps: str = ""
    graded: bool = False
    """Whether a self-assessment is asked for."""
    answers: tuple[str, ...] = ()
    """The reference and the given answer, where two are to be compared."""


@lru_cache(maxsize=64)  # candidates that exploit are all shown the same
def read(text: str) -> Read:
    """Read a prompt."""
    sections = list(_blocks(_SECTION, text))
    code = _CODE.search(text)
    tasks = [(head[1], body) for head, body in sections if head[1].startswith("Your task")]
    task, asked = tasks[-1] if tasks else ("", "")

    def under(*begins: str) -> list[str]:
        return [body for head, body in sections if head[1].startswith(begins)]

    reviews = under("Checks of", "What reviewers", "A review")
    items = [item for body in under(*_EXPERIENCE) for item in _items(body, "conclusion")]
    items += [item for body in under("Pitfalls") for item in _items(body, "pitfall")]
    return Read(
        code=code[1] if code else "",
        task=task.removeprefix("Your task:").strip(),
        attempts=tuple(seen for _, body in sections for seen in _attempts(body)),
        items=tuple(items),
        listed={name: id for body in under("Strategies") for name, id in _listed(body)},
        checks=tuple(check for body in reviews for check in _reviews(body)),
        solution="\n".join(under(*_SOLUTIONS)),
        notes="\n".join(under(*_NOTES)),
        steps="\n".join(under("Steps so far")).strip(),
        graded="Self-assessment:" in asked,
        answers=tuple(body.strip() for body in under("Reference answer", "Given answer")),
    )


def _blocks(heading: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each heading in `text` with what stands below it."""
    heads = list(heading.finditer(text))
    for head, following in zip_longest(heads, heads[1:]):
        yield head, text[head.end() : following.start() if following else len(text)]


def _reviews(body: str) -> list[str]:
    return _REVIEW.split(body)[1:] or [body]


def _attempts(body: str) -> Iterator[Seen]:
    for head, text in _blocks(_ATTEMPT, body):
        summary = _FOUND.search(text)
        said = summary[1] if summary else ""
        solution = text.replace(summary[0], "") if summary else text
        score = _SCORE.search(head[2])
        yield Seen(
            number=int(head[1]),
            score=float(score[1]) if score else None,
            strategy=strategy_of(solution) or strategy_of(said),
            claims=tuple(dict.fromkeys(claims(solution))),
            found=finding(said),
        )


def _items(body: str, kind: str) -> Iterator[Noted]:
    for found in _ITEM.finditer(body):
        said = claims(found["text"])
        support = re.search(r"\(supported by (\d+)\)", found["text"])
        yield Noted(
            id=found["id"] or "",
            kind=found["kind"] or kind,
            claim=said[0] if said else None,
            denied=denies(found["text"]),
            support=int(support[1]) if support else 0,
            strategy=strategy_of(found["text"]),
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
