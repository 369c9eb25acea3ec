"""Formulas in one of their equivalent orders: `5 > x` as `x < 5`.

They are lists of signs, as `notation` reads them.
"""

from collections.abc import Sequence

RELATIONS = frozenset({
    "=", "≐", "!=", "<", "<=", ">", ">=", "≡", "≈", "DIV", "NDIV", "MULT", "∈", "∉", "⊂",
    "⊆", "⊃", "⊇", "=>", "<==", "<=>", "parallel", "perp", "->", "~",
})  # fmt: skip
_TURNED = {
    ">": "<", ">=": "<=", "MULT": "DIV", "<==": "=>", "⊃": "⊂", "⊇": "⊆",
}  # fmt: skip
_EITHER_WAY = frozenset({
    "=", "!=", "≡", "≈", "<=>", "parallel", "perp",
})  # fmt: skip
_DEEPER = {"(": 1, "[": 1, "{{": 1, ")": -1, "]": -1, "}}": -1}


def clauses(run: Sequence[str]) -> list[list[str]]:
    """Split signs at the commas that part one assertion from the next, not items of a list."""
    groups: list[list[str]] = []
    for part in _split(run, {","}):
        left = _split(part, RELATIONS)[0]
        relates = len(left) < len(part)
        listed = len(left) == 1 and left[0].isalpha()
        own = relates and (not listed or not groups or _relates(groups[-1]))
        if groups and not own:
            groups[-1] += [",", *part]
        elif part:
            groups.append(list(part))
    return groups


def relates(formula: str) -> bool:
    """Whether the formula asserts something by itself."""
    parts = formula.split(" ")
    return _relates(parts) and parts[0] not in RELATIONS and parts[-1] not in RELATIONS


def arranged(signs: Sequence[str], *, fixed: bool) -> str:
    """One text for a formula and all that turn it round; `fixed`: a word before it goes with it."""
    signs = _bars(_unbracketed(signs))
    places = _tops(signs, RELATIONS)
    if places and not fixed and places[0] > 0:
        sides = _split(signs, RELATIONS)
        signs = _turned(sides, [signs[place] for place in places])
    return " ".join(signs)


def _turned(sides: list[list[str]], relations: list[str]) -> list[str]:
    if len(relations) == 1 and relations[0] in _EITHER_WAY:
        sides = sorted(sides)
    elif all(r in _TURNED or r == "=" for r in relations) and set(relations) != {"="}:
        sides, relations = sides[::-1], [_TURNED.get(r, r) for r in relations[::-1]]
    signs = list(sides[0])
    for relation, side in zip(relations, sides[1:], strict=True):
        signs += [relation, *side]
    return signs


def _bars(signs: list[str]) -> list[str]:
    """A single bar divides; two are an absolute value."""
    single = signs.count("|") == 1 and 0 < signs.index("|") < len(signs) - 1
    return ["DIV" if sign == "|" else sign for sign in signs] if single else signs


def _unbracketed(signs: Sequence[str]) -> list[str]:
    """The signs without a pair of brackets around them all, or around a modulus."""
    found = list(signs)
    while len(found) > 2 and found[0] == "(" and _closing(found, 0) == len(found) - 1:
        if _tops(found[1:-1], {","}):
            break
        found = found[1:-1]
    for place in reversed(
        [i for i in range(1, len(found)) if found[i] == "mod" and found[i - 1] == "("]
    ):
        end = _closing(found, place - 1)
        if end:
            del found[end], found[place - 1]
    return found


def modulus(signs: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before a final "mod", and that with what follows."""
    signs = _unbracketed(signs)
    places = _tops(signs, {"mod"})
    if not places or _relates(signs[places[-1] :]):
        return signs, []
    return signs[: places[-1]], signs[places[-1] :]


def _relates(signs: Sequence[str]) -> bool:
    return bool(_tops(signs, RELATIONS))


def _closing(signs: Sequence[str], place: int) -> int:
    depth = 0
    for i in range(place, len(signs)):
        depth += (signs[i] == "(") - (signs[i] == ")")
        if not depth:
            return i
    return 0


def _tops(signs: Sequence[str], wanted: frozenset[str] | set[str]) -> list[int]:
    """Where the wanted signs stand outside of all brackets."""
    depth, places = 0, list[int]()
    if wanted.isdisjoint(signs):
        return places
    for place, sign in enumerate(signs):
        depth += _DEEPER.get(sign, 0)
        if depth <= 0 and sign in wanted:
            places.append(place)
    return places


def _split(signs: Sequence[str], at: frozenset[str] | set[str]) -> list[list[str]]:
    parts: list[list[str]] = []
    begin = 0
    for place in [*_tops(signs, at), len(signs)]:
        parts.append(list(signs[begin:place]))
        begin = place + 1
    return parts
