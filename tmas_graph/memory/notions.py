"""Forms of one notion as one, and what is only said again left out.

The table is `meaning.txt` beside this file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tmas_graph.memory.english import english, sections, stem
from tmas_graph.memory.reading import Part


@dataclass(frozen=True, slots=True)
class Notions:
    """The table, by stems."""

    light: frozenset[str]
    alike: dict[str, str]
    sorts: dict[str, str]
    idle: dict[str, frozenset[str]]
    """Words that say nothing where another is there, by that one."""
    nouns: frozenset[str]
    """Qualities that are said by nouns, too."""


@cache
def notions() -> Notions:
    """Read the table."""
    parts = sections("meaning.txt")
    alike: dict[str, str] = {}
    for line in parts["alike"]:
        first, _, others = line.partition(" = ")
        alike |= {stem(word): stem(first) for word in others.split()}
    return Notions(
        light=english().soft | {stem(w) for line in parts["light"] for w in line.split()},
        alike=alike,
        sorts={
            stem(w): k
            for k, _, ws in (x.partition(": ") for x in parts["sorts"])
            for w in ws.split()
        },
        idle={
            stem(w): frozenset(map(stem, words.split()))
            for w, _, words in (x.partition(": ") for x in parts["idle"])
        },
        nouns=frozenset(stem(w) for line in parts["nouns"] for w in line.split()),
    )


def form(part: Part) -> str:
    """Its text in canonical form."""
    return part.text if part.formula else notions().alike.get(part.text, part.text)


def unrepeated(parts: Sequence[Part]) -> list[Part]:
    """The parts without a heading or a means that is named again, nor words idle beside others."""
    forms = [form(part) for part in parts]
    idle = {word for form in forms for word in notions().idle.get(form.split(" ")[0], ())}
    found: list[Part] = []
    for place, part in enumerate(parts):
        after = parts[place + 1] if place + 1 < len(parts) else None
        heads = place == 0 and after and after.pause and forms[0] in forms[1:]
        means = part.marker == "by" and (not after or after.pause) and forms[place] in forms[:place]
        if part.formula or not (heads or means or forms[place] in idle):
            found.append(part)
    return found or list(parts)


def named(parts: Sequence[Part]) -> list[Part]:
    """Read "continuity of f" as "f is continuous"."""
    found = list(parts)
    for place in range(len(parts) - 1):
        noun, thing = parts[place : place + 2]
        if thing.marker == "of" and not noun.formula and form(noun) in notions().nouns:
            found[place] = noun._replace(text=thing.text, formula=thing.formula, kind=thing.kind)
            found[place + 1] = thing._replace(text=noun.text, formula=False, kind="", marker="")
            found[place + 1] = found[place + 1]._replace(asserted=True)
    return found
