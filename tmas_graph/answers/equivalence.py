"""Is a prediction the gold answer? `grade` for whole texts, `equal` for two answers.

In order: what the texts declare; the same spelling; exact plain numbers; else a worker process
reads both by a grammar of our own and compares them by exact arithmetic, balls and bounds. Model
text is never run as code. A judge model may be asked where the verdict is `unsure`: not here.
"""

import asyncio
import hashlib
import os
import re
import threading
from collections import OrderedDict
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple

from tmas_graph.answers.extract import after_thinking, answer_of, gold_answer, is_cut_off
from tmas_graph.answers.normalise import flat, normalise
from tmas_graph.answers.numbers import plain_number
from tmas_graph.answers.statement import stated
from tmas_graph.answers.verdict import Verdict, correct, error, incorrect, unsure
from tmas_graph.answers.workers import pool

TIMEOUT = 5.0
MAX_CHARACTERS = 20_000
_REMEMBERED = 20_000
_SOMETHING = re.compile(r"[^\W_]|\\[a-zA-Z]|[∞∅]")
_STEP_CHARACTERS = 200


def grade(pred: str, gold: str, *, timeout: float = TIMEOUT) -> Verdict:
    """Compare the final answer of a text with the gold answer.

    The verdict is remembered, save for errors. `timeout` bounds the work in a worker, in seconds.
    """
    key = _key("grade", pred, gold)
    return _known(key) or _remember(key, _grade(pred, gold, timeout))


async def agrade(pred: str, gold: str, *, timeout: float = TIMEOUT) -> Verdict:  # noqa: ASYNC109
    """Do what `grade` does, without holding up the event loop."""
    if known := _known(_key("grade", pred, gold)):
        return known
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(pool().executor, partial(grade, pred, gold, timeout=timeout))


def equal(first: str, second: str, *, timeout: float = TIMEOUT) -> Verdict:
    """Compare two answers that have been extracted; the order of the two doesn't matter."""
    first, second = sorted((first, second))
    key = _key("equal", first, second)
    return _known(key) or _remember(key, _compare(first, second, timeout, directed=False))


async def aequal(first: str, second: str, *, timeout: float = TIMEOUT) -> Verdict:  # noqa: ASYNC109
    """Do what `equal` does, without holding up the event loop."""
    if known := _known(_key("equal", *sorted((first, second)))):
        return known
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(
        pool().executor, partial(equal, first, second, timeout=timeout)
    )


def same_text(first: str, second: str) -> Verdict:
    """Compare two answers by their normalised text and as plain numbers, in this process."""
    return _at_once(first, second) or unsure("not plainly the same")


def plainly_differ(first: str, second: str) -> bool:
    """Are both plain numbers, and different ones? The quickest answer to the commonest question."""
    if max(len(first), len(second)) > _STEP_CHARACTERS:
        return False
    one, two = _spelling(first), _spelling(second)
    if one.number is None or two.number is None or one.number == two.number:
        return False
    return not (one.may_be_printed or two.may_be_printed)


def _grade(pred: str, gold: str, timeout: float) -> Verdict:
    reference = gold_answer(gold)
    declared = answer_of(pred)
    if declared is not None:
        return _grade_declared(declared, reference, timeout)
    spoken = after_thinking(pred)
    if spoken is None or is_cut_off(spoken):
        return incorrect("the prediction was cut off before its answer")
    return _grade_undeclared(spoken, reference, timeout)


def _grade_declared(declared: str, reference: str, timeout: float) -> Verdict:
    """Compare what is declared; of a sentence ("the largest n is 34") also what it states."""
    step = f"the prediction declares: {_short(declared)}"
    verdict = _compare(declared, reference, timeout, directed=True).after(step)
    if verdict.outcome == "unsure" and (statement := stated(declared)):
        again = _compare(statement, reference, timeout, directed=True)
        if again.outcome in ("correct", "incorrect"):
            return again.after(step, f"it states: {_short(statement)}")
    return verdict


def _grade_undeclared(spoken: str, reference: str, timeout: float) -> Verdict:
    """Compare a text without a declared answer: as a whole, then what it states at its end."""
    statement = stated(spoken)
    if statement is None or len(spoken) <= MAX_CHARACTERS:
        step = "the prediction declares nothing: it is read as a whole"
        verdict = _compare(spoken, reference, timeout, directed=True).after(step)
        if statement is None or verdict.outcome in ("correct", "incorrect"):
            return verdict
    step = f"the prediction's last sentence states: {_short(statement)}"
    return _compare(statement, reference, timeout, directed=True).after(step)


def _compare(pred: str, gold: str, timeout: float, *, directed: bool) -> Verdict:
    if verdict := _at_once(pred, gold):
        return verdict
    one, two = _spelling(pred).text, _spelling(gold).text
    return pool().decide(one, two, directed=directed, limit=timeout).after(_step(one, two))


def _at_once(pred: str, gold: str) -> Verdict | None:
    """Compare what needs no worker: the same spelling, plain numbers, what can't be compared."""
    if not _SOMETHING.search(pred):
        return incorrect("the prediction holds no answer")
    if not _SOMETHING.search(gold):
        return error("the gold holds no answer")
    if max(len(pred), len(gold)) > MAX_CHARACTERS:
        if pred.split() == gold.split():
            return correct("the same text")
        return error(f"limit: an answer of more than {MAX_CHARACTERS} characters")
    one, two = _spelling(pred), _spelling(gold)
    if one.flat == two.flat:
        return correct("the same after normalising", _step(one.text, two.text))
    if one.number is None or two.number is None:
        return None
    if one.number == two.number:
        return correct("the same number, exactly", _step(one.text, two.text))
    if one.may_be_printed or two.may_be_printed:
        return None
    return incorrect("different numbers", _step(one.text, two.text))


def _step(one: str, two: str) -> str:
    return f"normalised: {_short(one)} | {_short(two)}"


class _Spelling(NamedTuple):
    """A normalised answer: for the parser, for comparing, and as a plain number if it is one."""

    text: str
    flat: str
    number: Fraction | None
    may_be_printed: bool
    """Is it a decimal so long that it may be the printed form of another number?"""


@lru_cache(maxsize=1_000)
def _spelling(answer: str) -> _Spelling:
    text = normalise(answer)
    printed = "." in text and len(text) > 15
    return _Spelling(text, flat(text), plain_number(text), printed)


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _STEP_CHARACTERS].split())
    return line if len(line) <= _STEP_CHARACTERS else line[:_STEP_CHARACTERS] + "…"


_Key = tuple[str, str, str]
_memory = OrderedDict[_Key, Verdict]()
_memory_lock = threading.Lock()


def _renew_lock() -> None:
    global _memory_lock
    _memory_lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # another thread may hold it at that moment


def _key(kind: str, first: str, second: str) -> _Key:
    """Name a pair; a long text by its digest, so that the memory stays small."""
    return kind, _digest(first), _digest(second)


def _digest(text: str) -> str:
    if len(text) <= 200:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _known(key: _Key) -> Verdict | None:
    with _memory_lock:
        return _memory.get(key)


def _remember(key: _Key, verdict: Verdict) -> Verdict:
    if verdict.outcome != "error":
        with _memory_lock:
            _memory[key] = verdict
            while len(_memory) > _REMEMBERED:
                _memory.popitem(last=False)
    return verdict


def forget() -> None:
    """Forget all verdicts that are remembered (for benchmarks and tests)."""
    _spelling.cache_clear()
    with _memory_lock:
        _memory.clear()
