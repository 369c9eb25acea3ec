"""A statement as a sequence of items: formulas and words that carry meaning, with their joints."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tmas_graph.memory.english import english
from tmas_graph.memory.formulas import RELATIONS, arranged, clauses, modulus, relates
from tmas_graph.memory.notation import Token
from tmas_graph.memory.phrasing import IS, QUANTIFIERS, THERE, THUS, in_formula, turned

_MARKERS = {
    "by": "by", "if": "if", "for": "for", "in": "in", "on": "on", "sinc": "since", "since": "since",
    "within": "in", "of": "of", "as": "of", "to": "to", "from": "from", "at": "at",
}  # fmt: skip
_CLOSE = ("of", "at", "to")
_JOINTS = frozenset({"and", ".", ";"})
_FAINT = frozenset({"be", "of", "as", "to", "from", "at"})
_KIND, _NOUN, _SKIP, _END = "kind of ", "a noun", "", Token("", False)
_PREDICATES = {"parallel": "parallel", "perpendicular": "perp", "coprim": "gcd"}
"""Said of two things that may be exchanged."""


class Part(NamedTuple):
    """A formula, or a word that carries meaning."""

    text: str
    formula: bool = False
    marker: str = ""
    """The preposition or conjunction before it."""
    boundary: bool = False
    """Whether a comma, a joint or a marker stands before it."""
    joint: bool = False
    """Whether "and", or a new sentence, stands before it."""
    asserted: bool = False
    """Whether a form of "to be" stands before it, or it is a relation."""
    kind: str = ""
    """The noun that only names its kind: "function" for f in "the function f"."""
    pause: bool = False
    """Whether a comma, a colon or a new sentence stands before it."""
    thus: bool = False
    """Whether it is said to follow from what stands before it."""


def parts_of(tokens: Sequence[Token]) -> tuple[Part, ...]:
    """The items of a statement."""
    reader = _Reader()
    for run in _runs(turned(tokens)):
        reader.take(run)
    return _inverted(reader.parts)


def _inverted(parts: list[Part]) -> tuple[Part, ...]:
    """Read "the minimum is 3" as "3 is the minimum", where nothing else could be meant."""
    if len(parts) > 3 and parts[1].text == "hav" and _measured(parts):
        return (*parts[2:-1], parts[0]._replace(marker="of"), Part(IS), parts[-1])
    if len(parts) < 3 or parts[-2].text != IS or any(map(_bars, parts[:-2])):
        return tuple(parts)
    return (parts[-1], *parts[:-2])


def _bars(part: Part) -> bool:
    """Whether a part keeps what it stands in from being turned round."""
    return bool(part.marker) or (part.formula and part.text != "1")


def _measured(parts: list[Part]) -> bool:
    """Whether they are "P has degree 4", which is "the degree of P is 4"."""
    ends = parts[0].formula and parts[-1].formula and not parts[-1].asserted
    return ends and len(parts) == 4 and parts[2].text in english().attributes


def _runs(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Formulas as one run each, words alone; what is left out parts formulas."""
    run: list[Token] = []
    for place, token in enumerate(tokens):
        if in_formula(token):
            run.append(token)
            continue
        after = tokens[place + 1] if place + 1 < len(tokens) else _END
        related = bool(run) and (run[-1].text in RELATIONS or after.text in RELATIONS)
        if related and (token.text in _FAINT or token.text in english().filler):
            continue
        if run:
            yield run
            run = []
        yield [_meant(token, tokens[place - 1] if place else _END, after)]
    if run:
        yield run


def _meant(token: Token, before: Token, after: Token) -> Token:
    """A word with what its place says: a noun that names a kind, the start of a new noun."""
    table = english()
    if (
        token.text in table.apposed
        and in_formula(after)
        and after.text not in RELATIONS | {",", "mod"}
    ):
        return Token(_KIND + token.text, False)
    if token.text in ("a", "an", "the"):
        begins = before.text not in table.filler and before.text not in _MARKERS
        return Token(_NOUN if begins and before is not _END else _SKIP, False)
    return Token(_SKIP, False) if token.text in table.filler else token


class _Reader:
    """Turns runs into items; remembers what stood before the next one."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._marker = ""
        self._boundary = self._joint = self._be = self._pause = self._thus = False
        self._kind = ""

    def take(self, run: list[Token]) -> None:
        """Add the items of a run."""
        word = run[0].text
        if in_formula(run[0]):
            self._formulas([token.text for token in run])
        elif word in _JOINTS:
            self._boundary = self._joint = True
            self._pause = self._pause or word != "and"
        elif word in (":", ",", THUS):
            self._boundary = self._pause = True
            self._thus = self._thus or word == THUS
        elif word == _NOUN:
            self._boundary = True
        elif word in _MARKERS:
            self._marker = _MARKERS[word]
            self._boundary = self._boundary or self._marker not in _CLOSE
        elif word == "be":
            self._be = True
        elif word.startswith(_KIND):
            self._kind = word.removeprefix(_KIND)
        elif word != _SKIP:
            self._word(word)

    def _word(self, word: str) -> None:
        if word in QUANTIFIERS:
            sign = "∃" if word == THERE else word
            self._marker, self._boundary = sign, True
            self._add(sign, kind="there" if word == THERE else "")
            self._marker = sign  # it goes with what it binds
        elif word in english().apposed and (place := self._described()) is not None:
            thing = self.parts[place]
            self.parts[place] = thing._replace(kind=thing.kind or word)
        elif word in _PREDICATES and self._pair():
            self._predicate(word, self._pair())
        else:
            self._add(word)

    def _described(self) -> int | None:
        """Where f is, after "f is continuous": a noun that follows only names its kind."""
        if self._boundary or self._marker or not self.parts or self.parts[-1].formula:
            return None
        place = next((i for i in reversed(range(len(self.parts))) if self.parts[i].formula), None)
        return place if place is not None and self.parts[place + 1].asserted else None

    def _pair(self) -> list[str]:
        """The two things that the last item lists, in one order."""
        last = self.parts[-1].text.split(" , ") if self.parts and self.parts[-1].formula else []
        return sorted(last) if len(last) == 2 and not relates(" ".join(last)) else []

    def _predicate(self, word: str, pair: list[str]) -> None:
        """Say of the last item what the formula for it says."""
        one, other = pair
        sign = _PREDICATES[word]
        text = f"1 = gcd ( {one} , {other} )" if sign == "gcd" else f"{one} {sign} {other}"
        self.parts[-1] = self.parts[-1]._replace(text=text, asserted=True, kind="")
        self._be = False

    def _formulas(self, signs: list[str]) -> None:
        begins, ends = signs[0] == ",", signs[-1] == ","
        signs = signs[begins : len(signs) - ends]
        self._boundary = self._boundary or begins
        self._pause = self._pause or begins
        for number, clause in enumerate(clauses(signs)):
            if number:
                self._boundary = self._pause = True
                self._joint = relates(self.parts[-1].text) and not self.parts[-1].marker
            claim, modulo = modulus(clause)
            if claim:
                self._formula(claim)
            if modulo:
                self._marker, self._boundary = self._marker or "mod", True
                self._add(" ".join(modulo), formula=True)
        self._boundary = self._boundary or ends
        self._pause = self._pause or ends

    def _formula(self, signs: list[str]) -> None:
        if signs[0] in ("=", IS):
            self._add(IS, kind=signs[0])
            signs = signs[1:]
        relations = [sign for sign in signs if sign in RELATIONS]
        described = self._goes_with() or (IS in signs and self._after_words())
        if relations in (["="], [IS]) and described and not self._is_value():
            place = signs.index(relations[0])
            for text in (signs[:place], [IS], signs[place + 1 :]):
                if text:
                    sign = relations[0] if text == [IS] else ""
                    self._add(arranged(text, fixed=True), formula=not sign, kind=sign)
            return
        plain = ["=" if sign == IS else sign for sign in signs]
        fixed = (described and not self._is_value()) or signs[:1] == [] or signs[0] in RELATIONS
        self._add(arranged(plain, fixed=fixed), formula=True)

    def _is_value(self) -> bool:
        return bool(self.parts) and self.parts[-1].text == IS

    def _goes_with(self) -> bool:
        """Whether the word before belongs to the formula that comes."""
        last = self.parts[-1].text if self.parts else ""
        return bool(last) and last not in english().loose and not (self._boundary or self._kind)

    def _after_words(self) -> bool:
        loose = english().loose
        return any(not part.formula and part.text not in loose for part in self.parts)

    def _add(self, text: str, *, formula: bool = False, kind: str = "") -> None:
        asserted = self._be or (formula and relates(text))
        kind = self._kind if formula else kind
        self.parts.append(
            Part(
                text, formula, self._marker, self._boundary, self._joint, asserted, kind,
                self._pause, self._thus,
            )
        )  # fmt: skip
        self._marker = self._kind = ""
        self._boundary = self._joint = self._be = self._pause = self._thus = False
