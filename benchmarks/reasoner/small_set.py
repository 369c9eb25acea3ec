"""What the synthetic reasoner finds in prompts of the set `small`: worked examples, no headings.

The examples are about nuts and sums, so that what stands after the first puzzle is what is asked.
Checks' findings never reach whoever takes notes or exploits there, only scores do: steps of
attempts with high ones count as confirmed.
"""

import re
from collections.abc import Iterator

from benchmarks.reasoner.reading import Noted, Read, Seen
from benchmarks.reasoner.statements import Finding, claims, denies, strategy_of

_EXAMPLES = ("What is 2+3?", "Problem: What is 9 minus 4?", "Right answer: all even numbers")
_PUZZLE = re.compile(r"^(?:Problem: )?Puzzle ([0-9a-f]{8})\.[^?(\n]*?fillings\.", re.MULTILINE)
_TRIED = re.compile(
    r"^(?:Tried|Attempt \d+) \(score ([\d.]+|unknown)\): (.*?)(?=^(?:Tried|Attempt \d+) \(|\Z)",
    re.MULTILINE | re.DOTALL,
)
_NOTED = re.compile(r"^Noted (E\d+): (.*)$", re.MULTILINE)
_LISTED = re.compile(r"(?:^Listed |(?<=[:;]) )(G\d+):? ([^(;\n]+)", re.MULTILINE)
_CHECK = re.compile(r"^Check \(score [^)]*\): ", re.MULTILINE)
_HINT = re.compile(r" \((.*?)\)(?= \(|$)")
_AVOID = " Don't use "
_COMPARED = re.compile(r"^(?:Right|Given) answer: (.*)$", re.MULTILINE)
_CONVINCING = 0.75
"""The least mean score that lets a reader take an attempt's steps for confirmed."""


def is_small(text: str) -> bool:
    """Whether a prompt is one of this set."""
    return text.lstrip().startswith(_EXAMPLES) or any(f"\n\n{e}" in text for e in _EXAMPLES)


def read(text: str) -> Read:
    """Read a prompt of this set."""
    puzzles = list(_PUZZLE.finditer(text))
    if not puzzles:
        given = _COMPARED.findall(text)[-2:]
        return Read("", "are they the same answer?", answers=tuple(given))
    code, rest = puzzles[0][1], text[puzzles[0].end() :]
    if puzzles[0][0].startswith("Problem: "):
        return _agents(code, rest.lstrip("\n"))
    return _solvers(code, text[puzzles[0].end() : puzzles[-1].start()], text[puzzles[-1].end() :])


def _solvers(code: str, best: str, told: str) -> Read:
    """What someone who writes a solution is told, and as an example the best attempt."""
    if told.startswith(_AVOID):
        names = re.sub(r"\([^)]*\)", "", told.removeprefix(_AVOID)).rstrip(". \n").split(",")
        return Read(
            code, "solve the problem in a new way", listed={name.strip(): "" for name in names}
        )
    items = tuple(_item("", hint) for hint in _HINT.findall(told))
    attempts = (_attempt(1, None, best),) if best.strip() else ()
    if not (items or attempts):
        return Read(code, "solve the problem")
    return Read(code, "improve on the earlier attempts", attempts=attempts, items=items)


def _agents(code: str, rest: str) -> Read:
    """What someone who checks or notes is told."""
    if rest.startswith("Solution: "):
        solution, *checks = _CHECK.split(rest.removeprefix("Solution: "))
        task = "summarise the checks" if checks else "check the proposed solution"
        return Read(code, task, solution=solution, checks=tuple(checks))
    attempts = tuple(_attempts(rest))
    if re.search(r"^Attempt 1 \(score ", rest, re.MULTILINE):
        listed = {name.strip(): id for id, name in _LISTED.findall(rest)}
        return Read(code, "list the strategies that were tried", attempts=attempts, listed=listed)
    items = tuple(_item(id, said) for id, said in _NOTED.findall(rest))
    task = "note what the next attempts can reuse"
    return Read(code, task, attempts=attempts, items=items)


def _attempts(rest: str) -> Iterator[Seen]:
    for number, (score, solution) in enumerate(_TRIED.findall(rest), 1):
        yield _attempt(number, None if score == "unknown" else float(score), solution)


def _attempt(number: int, score: float | None, solution: str) -> Seen:
    stated = tuple(dict.fromkeys(claims(solution)))
    sure = score is not None and score >= _CONVINCING
    found = Finding(confirmed=stated if sure else ())
    return Seen(number, score, strategy_of(solution), stated, found)


def _item(id: str, said: str) -> Noted:
    found = claims(said)
    denied = denies(said) or said.startswith("Not true")
    kind = "pitfall" if denied else "conclusion"
    return Noted(id, kind, found[0] if found else None, denied, 0, strategy_of(said))
