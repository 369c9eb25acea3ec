"""Put an answer that has been read into words, for the steps of a verdict."""

from tmas_graph.answers.answer import Answer, Claim, Group, Interval, Matrix, Region, Value, Words
from tmas_graph.answers.syntax import Apply, Formula, Name, Number

_LONGEST = 120
_INFIX = frozenset(("+", "-", "*", "/", "^"))


def shown(answer: Answer) -> str:
    """Describe an answer in a line."""
    text = _described(answer)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _described(answer: Answer) -> str:
    match answer:
        case Value():
            name = f"{answer.name} = " if answer.name else ""
            return f"the value {name}{_formula(answer.formula)} {answer.unit}".rstrip()
        case Group(kind, items):
            return f"a {kind} of {len(items)}: " + "; ".join(map(_described, items[:12]))
        case Region(parts, without, name):
            lines = " or ".join(map(_interval, parts)) or "nothing"
            points = ", ".join(map(_formula, without))
            return f"the numbers {name} in {lines}" + (f" without {points}" if points else "")
        case Matrix(rows):
            return f"a matrix of {len(rows)} by {len(rows[0])}"
        case Claim(sign, left, right):
            return f"the claim {_formula(left)} {sign} {_formula(right)}"
        case Words(text, why):
            return f'words ({why}): "{text}"' if why else f'words: "{text}"'


def _interval(part: Interval) -> str:
    low = "-∞" if part.low is None else _formula(part.low)
    high = "∞" if part.high is None else _formula(part.high)
    return f"{'[' if part.low_closed else '('}{low}, {high}{']' if part.high_closed else ')'}"


def _formula(formula: Formula) -> str:
    match formula:
        case Number(value):
            return str(value) if value.numerator.bit_length() < 900 else "a long number"
        case Name(text):
            return text
        case Apply(head, arguments):
            inner = [_formula(argument) for argument in arguments[:8]]
            if head in _INFIX:
                return f"({f' {head} '.join(inner)})"
            return f"{head.removeprefix('call:')}({', '.join(inner)})"
