"""The restricted grammar of formulas, LaTeX or plain, by recursive descent.

Nothing is evaluated here. A side-by-side product binds closer than a slash (`pi/2n` is
pi/(2n)), save between two plain numbers (`1/2x` is x/2).
"""

from collections.abc import Sequence
from fractions import Fraction

from tmas_graph.answers.atoms import FUNCTIONS, Atoms
from tmas_graph.answers.syntax import Apply, Formula, Number, Unreadable
from tmas_graph.answers.tokens import Token

_TIMES = ("*", r"\cdot", r"\times", r"\ast")
_OVER = ("/", r"\div")
_SIGNS = {"+": "+", "-": "-", r"\pm": "pm", r"\mp": "mp"}
_STOPS = frozenset(
    ("", "+", "-", r"\pm", r"\mp", "*", r"\cdot", r"\times", r"\ast", "/", r"\div", ")", "]", "}",
     "|", ",", ";", "=", "<", ">", ":", "^", "_", "!", "%", r"\%", r"\rfloor", r"\rceil",
     r"\rvert", r"\vert", r"\choose", r"\bmod", "\n", "&", r"\\")
)  # fmt: skip


def read_formula(tokens: Sequence[Token]) -> Formula:
    """Read all of `tokens` as one formula.

    Raises:
        Unreadable: they are none; the message says where.
        TooLarge: the formula nests too deeply or holds too long a number.
    """
    grammar = Grammar(tokens)
    formula = grammar.expression()
    if not grammar.done():
        raise Unreadable(f'"{grammar.peek().text}" is left over')
    return formula


class Grammar(Atoms):
    """Sums, products and powers."""

    def expression(self) -> Formula:
        """Read a sum, with plus-minus as an operator."""
        self.deeper()
        total = self._signed()
        while sign := self.accept(*_SIGNS):
            total = Apply(_SIGNS[sign], (total, self._product()))
        self.depth -= 1
        return total

    def summand(self) -> Formula:
        """Read what a sum sign governs: one product."""
        return self._product()

    def _signed(self) -> Formula:
        sign = self.accept(*_SIGNS)
        if sign is None or sign == "+":
            return self._product()
        if sign == "-":
            return Apply("neg", (self._signed_again(),))
        return Apply(_SIGNS[sign], (Number(Fraction(0)), self._product()))

    def _signed_again(self) -> Formula:
        self.deeper()
        inner = self._signed() if self.peek().text in _SIGNS else self._product()
        self.depth -= 1
        return inner

    def _product(self) -> Formula:
        total = self._side_by_side()
        while operator := self.accept(*_TIMES, *_OVER, r"\bmod"):
            if operator in _TIMES:
                total = Apply("*", (total, self._operand()))
            elif operator in _OVER:
                total = self._quotient(total)
            else:
                total = Apply("mod", (total, self._operand()))
        return total

    def _operand(self) -> Formula:
        if self.peek().text in ("-", "+"):
            return self._signed_again()
        return self._side_by_side()

    def _quotient(self, above: Formula) -> Formula:
        below = self._sign_of_factor()
        plain = isinstance(above, Number) and isinstance(below, Number)
        if not plain and (rest := self._more_factors()):
            below = Apply("*", (below, *rest))
        quotient = Apply("/", (above, below))
        if plain and (rest := self._more_factors()):
            return Apply("*", (quotient, *rest))
        return quotient

    def _sign_of_factor(self) -> Formula:
        if self.accept("-"):
            return Apply("neg", (self.factor(),))
        return self.factor()

    def _side_by_side(self) -> Formula:
        first = self.factor(leading=True)
        rest = self._more_factors()
        return Apply("*", (first, *rest)) if rest else first

    def _more_factors(self) -> list[Formula]:
        factors = list[Formula]()
        while not self.done() and self.peek().text not in _STOPS:
            before = self.tokens[self.at - 1]
            if before.kind == "number" == self.peek().kind:
                raise Unreadable(f'two numbers side by side: "{before.text} {self.peek().text}"')
            raised = self.at > 1 and self.tokens[self.at - 2].text in ("^", "_")
            if before.kind == "letter" and self.peek().kind == "number" and not raised:
                raise Unreadable(f'a number after a letter: "{before.text} {self.peek().text}"')
            if self.peek().kind == "word":
                raise Unreadable(f'the words "{self.peek().text}" are left over')
            factors.append(self.factor())
        return factors

    def factor(self, *, leading: bool = False) -> Formula:
        """Read an operand with its factorials, percent, degrees and powers."""
        base = self.atom(leading=leading)
        while True:
            if self.accept("!"):
                base = Apply("!!" if self.accept("!") else "!", (base,))
            elif self.accept("%", r"\%"):
                base = Apply("/", (base, Number(Fraction(100))))
            elif self.peek().text == "^" and self.peek(1).text == r"\circ":
                self.at += 2
                base = Apply("degrees", (base,))
            elif self.accept("^"):
                base = Apply("^", (base, self._exponent()))
            else:
                return base

    def _exponent(self) -> Formula:
        if self.peek().text == "(":
            return self.atom(leading=False)
        if self.peek().kind == "number":
            return self._tower(self.atom(leading=False))
        if self.peek().text in FUNCTIONS:
            return self.factor()
        return self._tower(self.signed_argument())

    def _tower(self, exponent: Formula) -> Formula:
        if self.accept("^"):
            self.deeper()
            exponent = Apply("^", (exponent, self._exponent()))
            self.depth -= 1
        return exponent
