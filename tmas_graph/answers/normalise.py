r"""One spelling for the glyphs, spaces and commands that mean the same in an answer.

Only what never changes the meaning is done here: an en dash is a minus, `\dfrac` is `\frac`,
`12\,345` is 12345. What depends on the reading (lists, units, percent) is left alone.
"""

import re

from tmas_graph.answers.glyphs import SUBSCRIPTS, SUPERSCRIPTS, TABLE

_SCRIPTS = tuple(
    (re.compile(f"[{''.join(table)}]+"), mark, str.maketrans(table))
    for mark, table in (("^", SUPERSCRIPTS), ("_", SUBSCRIPTS))
)
_SQUARE_METRES = re.compile("(?<![A-Za-z])(m|cm|km|mm|ft|in)[\u00b2\u00b3]")
_RULES = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"(?<=\d)\s?(?:\{,\}|,\\!\s?|\\,(?=\d{3}(?!\d)))(?=\d)", "\0"),
        (r"\\(?:left|right|[bB]igg?[lrm]?|middle)(?![a-zA-Z])\s?\.?", ""),
        (r"\\(?:displaystyle|textstyle|scriptstyle|limits|nolimits)(?![a-zA-Z])", " "),
        (r"\\(?:rm|bf|it|hline|boxed|fbox|ensuremath|mbox)(?![a-zA-Z])\s?", " "),
        (r"\\(?:boldsymbol|mathbf|mathit|mathsf|bm)(?![a-zA-Z])\s?", " "),
        (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
        (r"\\[dt]binom(?![a-zA-Z])", r"\\binom"),
        (r"\\(?:leq|leqslant|leqq)(?![a-zA-Z])|<=|=<", r"\\le "),
        (r"\\(?:geq|geqslant|geqq)(?![a-zA-Z])|>=", r"\\ge "),
        (r"\\(?:neq)(?![a-zA-Z])|!=", r"\\ne "),
        (r"\\lt(?![a-zA-Z])", "<"),
        (r"\\gt(?![a-zA-Z])", ">"),
        (r"\\colon(?![a-zA-Z])", ":"),
        (r"\\(?:dots|cdots|dotsc|dotsb)(?![a-zA-Z])|\.\.\.", r"\\ldots "),
        (r"\\(?:varnothing|O)(?![a-zA-Z])", r"\\emptyset "),
        (r"\\(?:quad|qquad|nobreak|allowbreak|hfill)(?![a-zA-Z])|(?<!\\)\\[,;:! >]|~", " "),
        (r"\\h?space\*?\{[^{}]*\}|\\label\{[^{}]*\}|\\tag\*?\{[^{}]*\}", " "),
        (r"\\(?:degree|degrees)(?![a-zA-Z])", r"^\\circ "),
        (r"\^\s?\{\s?\\circ\s?\}", r"^\\circ "),
        (r"\^(?=\^)", ""),
        (r"\*\*", "^"),
        (r"\\\$|\$|\\[()]|(?<!\\)\\[\[\]]", " "),
        (r"(?<![\d,.])(\d{1,3})((?: \d{3}){1,12})(?![\d,.])(?= {0,9}$)", None),
    )
)  # fmt: skip


def normalise(answer: str) -> str:
    """Spell `answer` in one way; the result is for the parser, and for people to read."""
    text = _SQUARE_METRES.sub(r"\\text{ \1^2}", answer)
    for pattern, mark, table in _SCRIPTS:
        text = pattern.sub(rf"{mark}{{\g<0>}}", text).translate(table)
    text = text.translate(TABLE)
    for rule, by in _RULES:
        text = rule.sub(by if by is not None else _close_up, text)
    return _unwrapped(_without_stops(text.replace("\0", ",").strip()))


def flat(text: str) -> str:
    """Drop spaces, save between letters and digits: `1 1/2` isn't `11/2`."""
    return re.sub(r"\s+", "", re.sub(r"(?<=[\dA-Za-z])\s+(?=[\dA-Za-z.])", "\0", text))


def _close_up(match: re.Match[str]) -> str:
    return match.group().replace(" ", "")


def _without_stops(text: str) -> str:
    """Drop punctuation and lone backslashes that end a sentence, not an answer."""
    text = text.rstrip(".,;: \n\\").lstrip(",;: \n")
    surplus = text.count("}") - text.count("{")
    while surplus > 0 and text.endswith("}"):
        text, surplus = text[:-1].rstrip(), surplus - 1
    return text


def _unwrapped(text: str) -> str:
    """Drop the pairs of braces around everything, however many."""
    opened, closing = list[int](), dict[int, int]()
    for match in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        if match.group() == "{":
            opened.append(match.start())
        elif match.group() == "}" and opened:
            closing[opened.pop()] = match.start()
    start, end = 0, len(text)
    while closing.get(start) == end - 1:
        start, end = start + 1, end - 1
        while start < end and text[start] == " ":
            start += 1
        while start < end and text[end - 1] == " ":
            end -= 1
    inside = text[start:end]
    return inside if r"\choose" not in inside else text
