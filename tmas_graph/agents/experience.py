"""The Experience agent: low-level results, techniques and pitfalls out of the rollouts.

It says one thing a line: a new item, or what the attempts say about one that it was shown, by the
name it was shown under. What a line says that can't be read is left out, never guessed. What is
within a line, whatever it looks like, is part of what that line says.
"""

import re
from collections.abc import Iterator, Sequence
from typing import cast

from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.memory.items import Item, ItemKind, in_one_line
from tmas_graph.memory.ledger import Changes
from tmas_graph.memory.retrieval import Noted
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Prompts
from tmas_graph.state import Problem, Rollout

MOST_ITEMS = 16
"""Items taken from one reply, corrections aside."""
LONGEST_REASON = 300
"""Characters; the ledger holds reasons, and is part of every checkpoint."""
_LONGEST_ITEM = 2000
_NOTHING = {"none", "n/a", "nothing new", "nothing"}
_ALWAYS = {*_NOTHING, "always", "no conditions", "unconditional"}

_BEGIN = r"\s*+(?:[-*•+]|\d+[.)])?\s*+[*_`]*+"
_KINDS = "conclusion|technique|pitfall"
_ITEM = (
    rf"(?:\\?[\[(]\s*+(?P<boxed>{_KINDS})s?\s*+\\?[\])][*_`]*+(?:\s*+:)?"
    rf"|(?P<bare>{_KINDS})[*_`]*+\s*+:)"
    r"[*_`]*+\s*+(?P<text>\S.*)"
)
_VERBS = "(?P<verb>support|confirm|refute|contradict|correct)"
_NAME = r"[*_`\[(]*+\bE\s?+\d{1,6}\b(?!\.\d)[*_`\])]*+"
_NAMES = rf"(?P<names>{_NAME}(?:\s*+(?:(?:,|;|&|/|\+)(?:\s*+and\b)?|and\b)?\s*+{_NAME})*+)"
_DASH = r"[-–—](?!\s*+E\s?\d|\d)"  # none that makes a range of names
_REST = (
    rf"(?P<rest>\s*+[*_`]*+(?:$|[:.,;(]|{_DASH}|"
    r"(?:as|because|since|to|by|with|in|from)\b).*)"
)
_ADD = re.compile(rf"{_BEGIN}{_ITEM}", re.IGNORECASE)
_VERB_FIRST = re.compile(
    rf"{_BEGIN}[\[(]?+{_VERBS}(?:s|d|ed)?+\b[\])*_`]*+(?:\s*+:)?[*_`]*+\s*+(?:for\s++|of\s++)?"
    rf"{_NAMES}{_REST}",
    re.IGNORECASE,
)
_NAMES_FIRST = re.compile(
    rf"{_BEGIN}{_NAMES}\s*+[-:=–—]?\s*+(?:(?:is|are|was|were|(?:has|have)\s++been)\s++)?"
    rf"[*_`\[(]*+{_VERBS}(?:d|ed)?+\b[\])*_`]*+{_REST}",
    re.IGNORECASE,
)
_REPLACEMENT = re.compile(rf"[-:–—\s]*+(?:to|by|with|as)?[-:–—\s]*+[*_`]*+{_ITEM}", re.IGNORECASE)
_REASON = re.compile(
    r"\s*+(?:[-:.,;–—]\s*+)?+(?:[*_`]++\s++)?+(?:[*_`]*+(?:because|since)\b[*_`]*+\s*+)?+"
    r"(?P<reason>\S.*)",
    re.IGNORECASE,
)
_SUPPORTED = re.compile(r"\s*+\(supported by \d{1,6}\)\s*+\Z", re.IGNORECASE)
_REFUTED = re.compile(r"\(refuted(?::.*)?\)[.*_`\s]*+\Z", re.IGNORECASE)
"""What prompts say of an item; a model that lists known items copies it."""
_CONDITIONS = re.compile(r"\(if\s*+:\s*+(?P<said>\S.*)\)\Z", re.IGNORECASE)


async def extract(
    model: Model,
    prompts: Prompts,
    problem: Problem,
    rollouts: Sequence[Rollout],
    known: Sequence[Noted],
) -> Reply:
    """Ask for what the next attempts can reuse, and what they say of the `known` items."""
    shown = Shown(rollouts=tuple(rollouts), experience=tuple(known))
    return (await model(prompt(prompts, "experience", problem, shown, items=MOST_ITEMS)))[0]


def parse(reply: Reply, known: Sequence[Noted] = ()) -> Changes:
    """What a reply to a prompt that showed the `known` items says, one thing a line.

    Texts are kept as they are, but for control characters and Unicode's ends of lines, which become
    spaces, and for what a prompt itself says of an item ("(supported by 2)"). The last line of a
    cut reply is dropped.
    """
    added: dict[str, Item] = {}
    corrected: dict[str, Item] = {}
    supported: dict[str, None] = {}
    refuted: dict[str, str] = {}
    unknown, shown = 0, {one.number: one for one in known}
    for line in _lines(reply):
        if found := _ADD.fullmatch(line):
            if (item := _item(found)) and len(added) < MOST_ITEMS:
                added.setdefault(item.id, item)
            continue
        if not (found := _VERB_FIRST.fullmatch(line) or _NAMES_FIRST.fullmatch(line)):
            continue
        verb, numbers = found["verb"].lower(), _numbers(found["names"])
        named = [shown[number] for number in numbers if number in shown]
        unknown += len(numbers) - len(named)
        for one in named:
            if verb in ("support", "confirm"):
                supported[one.entry.id] = None
            elif verb in ("refute", "contradict"):
                refuted.setdefault(one.entry.id, _reason(found["rest"]))
            elif (tagged := _REPLACEMENT.fullmatch(found["rest"])) and (item := _item(tagged)):
                corrected.setdefault(one.entry.id, item)
    return Changes(tuple(added.values()), tuple(supported), refuted, corrected, unknown)


def _lines(reply: Reply) -> Iterator[str]:
    # A lone carriage return begins a line on a terminal and for many models: none gets into items.
    for line in reply.lines:
        for part in line.split("\r"):
            yield in_one_line(part)


def _numbers(names: str) -> list[int]:
    return list(dict.fromkeys(int(number) for number in re.findall(r"\d+", names)))


def _item(found: re.Match[str]) -> Item | None:
    said = _SUPPORTED.sub("", found["text"]).rstrip()
    if _REFUTED.search(said):
        return None
    if len(said) > _LONGEST_ITEM or said.rstrip(".").lower() in _NOTHING:
        return None
    kind = (found["boxed"] or found["bare"]).lower()
    return Item(cast(ItemKind, kind), *_apart(said))


def _reason(rest: str) -> str:
    found = _REASON.fullmatch(rest)
    reason = found["reason"].rstrip() if found else ""
    if len(reason) <= LONGEST_REASON:
        return reason
    return reason[:LONGEST_REASON].rpartition(" ")[0] + " …"


def _apart(said: str) -> tuple[str, str]:
    """`said` without the conditions at its end, and these; `(if: …)` with balanced brackets."""
    whole = said.rstrip(".*_` ")
    begin = _opening(whole)
    found = _CONDITIONS.match(whole, begin) if begin > 0 else None
    text, conditions = said[:begin].rstrip(), found["said"].strip() if found else ""
    if not text or not conditions:
        return said, ""
    return text, "" if conditions.rstrip(".").lower() in _ALWAYS else conditions


def _opening(text: str) -> int:
    """Where the round bracket opens that closes at the end of `text`; -1 if none does."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if depth == 0:
            return place if text[place] == "(" else -1
    return -1
