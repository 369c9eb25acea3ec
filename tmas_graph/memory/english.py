"""Words of mathematical English: what may be left out, and what stands for what.

The table is `english.txt` beside this file. A word that it doesn't list stands for itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from tmas_graph.memory.notation import Token

_POWERS = frozenset({("squared",), ("cubed",)})
_MATHEMATICS = frozenset({"mod", "parallel", "perp"})


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """The word without the ending of its plural, participle or gerund."""
    known = _irregular().get(word)
    if known is None and word.isascii():
        for ending, least in (("ies", 5), ("ied", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
            if word.endswith(ending) and len(word) >= least:
                word = _bare(word, ending)
                break
    word = known or word
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _bare(word: str, ending: str) -> str:
    rest = word.removesuffix(ending)
    if ending in ("ies", "ied"):
        return f"{rest}y"
    if ending == "s":
        return word if rest.endswith(("s", "u", "i")) else rest
    if ending == "es":
        return rest if rest.endswith(("s", "x", "ch", "sh", "z")) else f"{rest}e"
    doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
    return rest[:-1] if doubled else rest


@cache
def _irregular() -> dict[str, str]:
    forms = {word: word for line in sections()["whole"] for word in line.split()}
    for line in sections()["irregular"]:
        known, _, others = line.partition(" = ")
        forms |= dict.fromkeys(others.split(), known)
    return forms


@dataclass(frozen=True, slots=True)
class English:
    """The table, by stems."""

    filler: frozenset[str]
    soft: frozenset[str]
    apposed: frozenset[str]
    free: frozenset[str]
    loose: frozenset[str]
    """`soft` and `free` ones."""
    agents: frozenset[str]
    attributes: frozenset[str]
    phrases: dict[tuple[str, ...], tuple[Token, ...]]
    """What stands for a phrase; nothing for one that is left out."""
    longest: dict[str, int]
    """By its first word, the words of the longest phrase."""


@cache
def english() -> English:
    """Read the table."""
    table = sections()
    phrases: dict[tuple[str, ...], tuple[Token, ...]] = {
        _stems(line): () for line in table["phrases"]
    }
    phrases |= {_stems(line): _tokens("thus") for line in table["thus"]}
    for line in table["same"] + table["numbers"]:
        meaning, _, variants = line.partition(" = ")
        phrases |= {_stems(variant): _tokens(meaning) for variant in variants.split(" | ")}
    longest: dict[str, int] = {}
    for first, *rest in phrases:
        longest[first] = max(longest.get(first, 0), 1 + len(rest))
    return English(
        filler=_words(table["filler"]),
        soft=_words(table["soft"]),
        apposed=_words(table["apposed"]),
        free=_words(table["free"]),
        loose=_words(table["soft"] + table["free"]),
        agents=_words(table["agents"]),
        attributes=_words(table["attributes"]),
        phrases=phrases,
        longest=longest,
    )


def plain(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """The tokens with words as stems, and one of several phrases that mean the same."""
    table = english()
    stems = [t if t.math else Token(stem(t.text), False) for t in tokens]
    texts = [token.text for token in stems]
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        longest = table.longest.get(texts[place])
        if longest is None:
            found.append(stems[place])
            place += 1
            continue
        for length in range(min(longest, len(tokens) - place), 0, -1):
            key = tuple(texts[place : place + length])
            if _applies(key, stems[place : place + length], found):
                found += table.phrases[key]
                break
        else:
            length = 1
            found.append(stems[place])
        place += length
    return tuple(found)


def _applies(key: tuple[str, ...], stems: Sequence[Token], before: Sequence[Token]) -> bool:
    """Whether a phrase is in the table and means here what the table says."""
    if key not in english().phrases or all(token.math for token in stems):
        return False
    return key not in _POWERS or bool(before and before[-1].math)


@cache
def sections(table: str = "english.txt") -> dict[str, list[str]]:
    """The lines of a table beside this file, by the heading that they stand under."""
    text = Path(__file__).with_name(table).read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            name = line.strip("[]")
            found[name] = []
        elif line:
            found[name].append(line)
    return found


def _words(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in " ".join(lines).split())


def _stems(phrase: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in phrase.split())


def _tokens(meaning: str) -> tuple[Token, ...]:
    return tuple(
        Token(stem(part), False)
        if part.isascii() and part.isalpha() and part.islower() and part not in _MATHEMATICS
        else Token(part, True)
        for part in meaning.split()
    )
