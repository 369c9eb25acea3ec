r"""The final answer of a text: the last balanced box, tags, a marker or a cue, else none.

Everything here is pure, total and takes time linear in the text: a model may write anything.
Thinking doesn't count: an answer that stands only before `</think>` is no answer.
"""

import re
from typing import NamedTuple

_BOX = re.compile(r"box(ed)?(?![a-zA-Z])[ \t\n]{0,9}")
_BEFORE_BOXED = re.compile(r"\\?(?:begin)?$")
_BEFORE_BOX = re.compile(r"\\?f(?:rame)?$")
_BARE_BOX = re.compile(r"[-+]?(?:\d[\d.,]{0,400}|\.\d{1,400})|[A-Za-z](?![A-Za-z])")
_BETWEEN_BOXES = re.compile(
    r"(?:[ \t\n,;$&.]|\\[()\[\],;! ]|\\q?quad|\\text(?:rm|bf)?\{\s{0,3}(?:and|or|,)?\s{0,3}\}"
    r"|\band\b|\bor\b|[A-Za-z](?:_\w|_\{\w{1,9}\})?\s{0,3}=)*"
)
_LISTING = re.compile(r",|;|\band\b|\bor\b")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_PERCENT = re.compile(r"\s?\$?\s?(?:\\?%|percent\b|pct\b)")
_TAIL = 20_000  # characters in which a cue is looked for
_SENTENCE = 4_000
_TAGS = "<answer>", "</answer>"
_MARKER = re.compile(r"####[ \t]*([^\n]*)")
_CUE = re.compile(
    r"(?:\b(?:final|correct)\s{1,3}answer|\banswer|答案)(?:\*{1,2}|\}|>|\s){0,4}"
    r"(?:(?:is|are|equals)\b[\s:*]{0,6}|(?:[:=\uff1a]|是|为)[\s:*]{0,6}|(?=\$|\\[(\[]))",
    re.IGNORECASE,
)
_REASON = re.compile(r"[,;]?\s(?:because|since)\b|<[/a-z][a-z ]{0,30}>", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。](?=\s|\*|$)|\n[ \t]*\n")
_OPENING = {"$$": "$$", "$": "$", r"\[": r"\]", r"\(": r"\)"}


class Box(NamedTuple):
    """A box in a text: where its command begins, where it ends, and what it holds."""

    begin: int
    end: int
    content: str


def last_box(text: str) -> Box | None:
    r"""Give the last balanced `\boxed{}` that isn't empty, with its place in `text`."""
    boxes, _ = _boxes(text)
    return boxes[-1] if boxes else None


def last_boxed(text: str) -> str | None:
    r"""Give what the last balanced `\boxed{}` holds; None where there is none.

    Also `\fbox`, a box without braces (`\boxed 12`) and one without its backslash.
    A box inside a box is part of the outer one; an empty box is none.
    """
    box = last_box(text)
    return box.content.strip() if box else None


def answer_of(text: str) -> str | None:
    """Give the final answer that `text` declares; None where it declares none.

    In order: the last balanced box (several, if only separators stand between them),
    `<answer>` tags, a `####` marker, the words "final answer" or "answer".
    A box that is cut off leaves no answer unless a whole one came before.
    """
    spoken = after_thinking(text)
    if spoken is None:
        return None
    boxes, cut = _boxes(spoken)
    if boxes:
        return _joined(boxes, spoken)
    return None if cut else _tagged(spoken) or _cued(spoken)


def gold_answer(text: str) -> str:
    """Give a reference answer without the box or sentence around its box."""
    boxes, _ = _boxes(text)
    return _joined(boxes, text) if boxes else text.strip()


def is_cut_off(text: str) -> bool:
    """Does `text` end inside its only box?"""
    boxes, cut = _boxes(text)
    return cut and not boxes


def after_thinking(text: str) -> str | None:
    """Give what follows the last `</think>`; None where the thinking never ends."""
    _, closing, spoken = text.rpartition("</think>")
    if not closing and text.lstrip().startswith("<think>"):
        return None
    return spoken


def _boxes(text: str) -> tuple[list[Box], bool]:
    """Find the outermost balanced boxes that aren't empty; True if the last one is cut off."""
    begin = text.find("box")  # braces before it belong to no box
    pairs = _brace_pairs(text, begin) if begin >= 0 else {}
    found, cut = list[Box](), False
    for match in _BOX.finditer(text):
        lead = (_BEFORE_BOXED if match[1] else _BEFORE_BOX).search(
            text, max(0, match.start() - 6), match.start()
        )
        if lead is None or (found and match.start() < found[-1].end):
            continue
        start, brace = lead.start(), match.end()
        if text.startswith("{", brace):
            cut = brace not in pairs
            if not cut and (content := text[brace + 1 : pairs[brace]].strip()):
                after = _PERCENT.match(text, pairs[brace] + 1)
                content += r"\%" if after else ""
                found.append(Box(start, pairs[brace] + 1, content))
        elif text[start] == "\\" and (bare := _BARE_BOX.match(text, brace)):
            found.append(Box(start, bare.end(), bare.group().rstrip(".,")))
    return found, cut


def _brace_pairs(text: str, begin: int) -> dict[int, int]:
    r"""Match the braces from `begin` on, opening to closing; `\{` and `\}` are not braces."""
    pairs, opened = dict[int, int](), list[int]()
    for match in _BRACE.finditer(text, begin):
        if match.group() == "{":
            opened.append(match.start())
        elif match.group() == "}" and opened:
            pairs[opened.pop()] = match.start()
    return pairs


def _joined(boxes: list[Box], text: str) -> str:
    """Join the boxes at the end that are listed one after another, each content once."""
    run = [boxes[-1]]
    for before in reversed(boxes[:-1]):
        gap = text[before.end : run[-1].begin]
        if len(gap) > 60 or not _BETWEEN_BOXES.fullmatch(gap):
            break
        if "\n" in gap.strip(" \t$") and not _LISTING.search(gap):
            break
        run.append(before)
    return ", ".join(dict.fromkeys(box.content for box in reversed(run)))


def _tagged(text: str) -> str | None:
    small = text.lower() if text.isascii() else text
    end = small.rfind(_TAGS[1])
    start = small.rfind(_TAGS[0], 0, end) if end >= 0 else -1
    if start >= 0:
        return text[start + len(_TAGS[0]) : end].strip() or None
    marked = _MARKER.findall(text)
    return marked[-1].strip() or None if marked else None


def _cued(text: str) -> str | None:
    """Read what stands after the last "answer is", up to the end of its sentence."""
    tail, end = text[-_TAIL:], -1
    for match in _CUE.finditer(tail):
        end = match.end()
    return first_statement(tail[end : end + _SENTENCE]) if end >= 0 else None


def first_statement(text: str) -> str | None:
    """Give the first sentence or displayed formula of `text`, without markdown or reasons."""
    text = text.strip(" \t\n*`")
    opening = next((mark for mark in _OPENING if text.startswith(mark)), None)
    begin = text.find(_OPENING[opening], len(opening)) if opening else 0
    ending = _SENTENCE_END.search(text, max(begin, 0))
    sentence = text[: ending.start()] if ending else text
    if reason := _REASON.search(sentence):
        sentence = sentence[: reason.start()]
    return sentence.strip(" \t\n*`") or None
