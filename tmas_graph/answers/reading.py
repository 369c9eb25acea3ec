"""Read a normalised answer: lists, sets, tuples, intervals, relations, units, then formulas.

What holds words outside mathematics becomes `Words`: it equals nothing but itself.
"""

from collections.abc import Iterable

from tmas_graph.answers import regions
from tmas_graph.answers.answer import Answer, Claim, Group, Region, Value, Words
from tmas_graph.answers.brackets import Tokens, split_at, split_at_text, wrapped
from tmas_graph.answers.grammar import read_formula
from tmas_graph.answers.matrices import read_matrix
from tmas_graph.answers.naming import Named, named
from tmas_graph.answers.plusminus import variants
from tmas_graph.answers.syntax import Apply, Formula, Unreadable, names_in
from tmas_graph.answers.tokens import Token, tokenise
from tmas_graph.answers.units import peel_unit
from tmas_graph.answers.vocabulary import APPROXIMATELY, EMPTY, EVERYTHING, SEPARATING

MAX_ITEMS = 300
_ORDER = {"<": "<", ">": ">", r"\le": "<=", r"\ge": ">="}
_RELATIONS = frozenset(("=", r"\in", r"\ne", r"\equiv", r"\to", r"\sim", r"\mid", *_ORDER))


def read_answer(text: str, *, grouped: bool = True) -> Answer:
    """Read a normalised answer; `grouped` reads `1,234` as one number.

    Raises:
        TooLarge: it passes a limit of the grammar.
    """
    if text.lower() in ("yes", "no"):
        return Words(text)
    phrase = " ".join(text.lower().replace(r"\text", "").replace("{", "").replace("}", "").split())
    if phrase in EMPTY:
        return Group("set", ())
    if phrase in EVERYTHING:
        return regions.everything()
    try:
        return _read_list(_without_trailer(tokenise(text, grouped=grouped)))
    except Unreadable as reason:
        return Words(text, str(reason))


def _without_trailer(tokens: list[Token]) -> list[Token]:
    """Drop what follows an approximation sign: `9/4 pi = 7.07 (approximately 7.07)`."""
    for place, token in enumerate(tokens):
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        near = r"\approx" in (token.text, following) and token.text in ("(", r"\approx")
        if place and token.text == r"\approx" and named(tokens[:place]):
            return [*tokens[:place], Token("sign", "="), *tokens[place + 1 :]]
        if place and (near or (token.text == "(" and following.lower() in APPROXIMATELY)):
            return tokens[:place]
    return tokens


def _read_list(tokens: Tokens) -> Answer:
    rows = [part for part in split_at_text(tokens, ";", "\n") if part]
    if len(rows) > 1:
        return Group("list", tuple(map(_read_row, rows)))
    if not rows:
        raise Unreadable("nothing is there")
    return _read_items(rows[0])


def _read_row(tokens: Tokens) -> Answer:
    row = _read_items(tokens)
    named_row = isinstance(row, Group) and all(isinstance(i, Value) and i.name for i in row.items)
    return Group("tuple", row.items) if isinstance(row, Group) and named_row else row


def _read_items(tokens: Tokens) -> Answer:
    parts, cuts = split_at(tokens, _separates)
    parts = [part for part in parts if part]
    if len(parts) > MAX_ITEMS:
        raise Unreadable(f"a list of more than {MAX_ITEMS} items")
    if len(parts) > 1:
        return Group("list", tuple(_flattened(map(_read_item, parts))))
    if not parts or len(cuts) > 1:
        raise Unreadable("a list of one item")
    return _read_item(parts[0])


def _separates(token: Token) -> bool:
    return token.text == "," or (token.kind == "word" and token.text.lower() in SEPARATING)


def _flattened(items: Iterable[Answer]) -> Iterable[Answer]:
    """Open the two values of a plus-minus inside a list."""
    for item in items:
        if isinstance(item, Group) and item.kind == "list":
            yield from item.items
        else:
            yield item


def _read_item(tokens: Tokens) -> Answer:
    if len(tokens) == 1 and tokens[0].text == r"\ldots":
        return Words(r"\ldots", "dots")
    if len(tokens) == 3 and wrapped(tokens) and tokens[1].text.isupper():
        return Words(tokens[1].text, "a choice")
    parts, cuts = split_at(tokens, lambda token: token.text in _RELATIONS)
    signs = [cut.text for cut in cuts]
    if not signs:
        return _read_operand(tokens)
    if signs == [r"\in"]:
        return _with_name(_read_operand(parts[1]), named(parts[0]), parts[1])
    if set(signs) == {"="}:
        return _read_equation(parts)
    if set(signs) <= set(_ORDER):
        return _read_inequality(parts, [_ORDER[sign] for sign in signs])
    if len(signs) == 1 and signs[0] == r"\ne":
        name = named(parts[0])
        if name:
            return Region((regions.WHOLE_LINE,), (read_formula(parts[1]),), name.text)
    raise Unreadable(f'the relation "{signs[0]}"')


def _read_equation(parts: list[Tokens]) -> Answer:
    first, last = parts[0], parts[-1]
    name = named(first)
    if len(parts) == 2 and not name and named(last):
        first, last, name = last, first, named(last)
    if name and named(last) and len(last) == len(first) == 1:
        return Claim("=", read_formula(first), read_formula(last))
    if name:
        _require_consistent(parts[1:])
        inner = _read_operand(last)
        if not (isinstance(inner, Value) and name.text in names_in(inner.formula)):
            return _with_name(inner, name, last)
    sides = split_at_text(first, ":")
    if len(parts) == len(sides) == 2 and all(map(named, sides)):
        ratio = Named("".join(token.text for token in first))
        return _with_name(_read_operand(last), ratio, last)
    formulas = [read_formula(part) for part in parts]
    if len(formulas) > 2:
        if any(map(names_in, formulas)):
            raise Unreadable("a chain of equations without a name")
        return Claim("=", formulas[0], formulas[-1])
    left, right = variants(formulas[0]), variants(formulas[1])
    if len(left) == len(right) == 1:
        return Claim("=", left[0], right[0])
    raise Unreadable("plus-minus in an equation")


def _require_consistent(values: list[Tokens]) -> None:
    """Refuse a chain of different formulas; of numbers the last one counts (`x = 2+3 = 5`)."""
    if len(values) < 2:
        return
    formulas = [read_formula(value) for value in values if value]
    if any(map(names_in, formulas)) and len(set(formulas)) > 1:
        raise Unreadable("a chain of different formulas")


def _with_name(inner: Answer, name: Named | None, tokens: Tokens) -> Answer:
    if name is None:
        raise Unreadable("a left side that is no name")
    if isinstance(inner, Value):
        return Value(inner.formula, name.text, name.parameters, inner.unit)
    if isinstance(inner, Region):
        return Region(inner.parts, inner.without, name.text)
    if isinstance(inner, Group) and inner.kind == "list":
        return Group("list", tuple(_with_name(item, name, tokens) for item in inner.items))
    if isinstance(inner, Group) and len(inner.items) == len(name.parameters):
        pairs = zip(inner.items, name.parameters, strict=True)
        items = (_with_name(item, Named(each), tokens) for item, each in pairs)
        return Group(inner.kind, tuple(items), inner.brackets)
    return inner


def _read_inequality(parts: list[Tokens], signs: list[str]) -> Answer:
    formulas = [read_formula(part) for part in parts]
    if len(parts) == 2:
        for side, other in ((0, 1), (1, 0)):
            name = named(parts[side])
            if name and not names_in(formulas[other]):
                sign = signs[0] if side == 0 else signs[0].translate(regions.TURNED)
                return regions.half_line(sign, formulas[other], name.text)
        return Claim(signs[0], formulas[0], formulas[1])
    name = named(parts[1]) if len(parts) == 3 else None
    if name is None or signs[0][0] != signs[1][0]:
        raise Unreadable("a chain of inequalities")
    return regions.between(formulas[0], formulas[2], signs, name.text)


def _read_operand(tokens: Tokens) -> Answer:
    if not tokens:
        raise Unreadable("nothing is there")
    if region := regions.read_union(tokens, _read_operand):
        return region
    if wrapped(tokens):
        if inside := _read_wrapped(tokens):
            return inside
    elif interval := regions.read_interval(tokens):
        return interval
    if tokens[0].text.startswith(r"\begin:"):
        return read_matrix(tokens)
    if len(tokens) == 1 and tokens[0].text == "mathbb:R":
        return regions.everything()
    if len(tokens) == 1 and tokens[0].text == r"\emptyset":
        return Group("set", ())
    ratio = split_at_text(tokens, ":")
    if len(ratio) == 2:
        return Value(Apply("/", (read_formula(ratio[0]), read_formula(ratio[1]))))
    if len(ratio) > 2:
        return Group("tuple", tuple(Value(read_formula(part)) for part in ratio), ":")
    return _read_value(tokens)


def _read_value(tokens: Tokens) -> Answer:
    bare, unit, factor = peel_unit(tokens)
    formula: Formula = read_formula(bare)
    if isinstance(formula, Apply) and formula.head == "degrees":
        formula, unit = formula.arguments[0], "degree"
    if factor is not None:
        formula = Apply("*", (formula, factor))
    found = variants(formula)
    if len(found) == 1:
        return Value(found[0], unit=unit)
    return Group("list", tuple(Value(each, unit=unit) for each in found))


def _read_wrapped(tokens: Tokens) -> Answer | None:
    """Read what stands in one pair of brackets; None where they only group a formula."""
    opening, inside = tokens[0].text, tokens[1:-1]
    if inside and inside[0].text.startswith(r"\begin:") and opening in ("(", "["):
        return read_matrix(inside)
    if opening == "{":
        if len(split_at_text(inside, r"\choose")) > 1:
            return None
        return _read_list(inside) if inside else Group("set", ())
    if opening == r"\{":
        return _read_set(inside)
    items = split_at_text(inside, ",")
    if len(items) == 1 and opening != r"\langle":
        return None
    if interval := regions.read_interval(tokens):
        return interval
    if opening + tokens[-1].text in ("()", "[]", r"\langle\rangle"):
        return Group("tuple", tuple(map(_read_item, items)), opening + tokens[-1].text)
    raise Unreadable("brackets that don't match")


def _read_set(inside: Tokens) -> Answer:
    if not inside:
        return Group("set", ())
    for bar in (":", "|", r"\mid"):
        described = split_at_text(inside, bar)
        if len(described) == 2 and (name := named(described[0])):
            condition = _read_item(described[1])
            if isinstance(condition, Region) and condition.name == name.text:
                return Region(condition.parts, condition.without)
            raise Unreadable("a set given by a condition")
    inner = _read_list(inside)
    if isinstance(inner, Group) and inner.kind == "list":
        return Group("set", inner.items)
    return Group("set", (inner,))
