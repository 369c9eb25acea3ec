"""The grammar's small pieces: names, brackets, fractions, roots, functions."""

from fractions import Fraction

from tmas_graph.answers.numerals import Numerals
from tmas_graph.answers.syntax import (
    Apply,
    Formula,
    Name,
    Number,
    Unreadable,
    names_in,
)
from tmas_graph.answers.tokens import require
from tmas_graph.answers.vocabulary import words

FUNCTIONS = {
    "\\" + name: name
    for name in words(
        "sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh log ln lg exp "
        "abs floor ceil gcd lcm max min cis"
    )
}
_INVERSES = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}
_BRACKETS = {
    "(": (")", None), "[": ("]", None), "{": ("}", None), "|": ("|", "abs"),
    r"\lvert": (r"\rvert", "abs"), r"\vert": (r"\vert", "abs"),
    r"\lfloor": (r"\rfloor", "floor"), r"\lceil": (r"\rceil", "ceil"),
}  # fmt: skip
_DECORATIONS = frozenset((r"\overline", r"\bar", r"\hat", r"\vec", r"\tilde", r"\widehat",
                          r"\overrightarrow"))  # fmt: skip
_SYMBOLS = frozenset(
    "\\" + name
    for name in words(
        "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu "
        "nu xi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi "
        "Sigma Upsilon Phi Psi Omega ell angle triangle infty pi hbar"
    )
)
_CALLABLE = frozenset("fgh")


class Atoms(Numerals):
    """Read one operand."""

    def atom(self, *, leading: bool) -> Formula:
        r"""Read an operand; `leading` allows a mixed number such as `2\frac34`."""
        token = self.peek()
        if token.text in _BRACKETS:
            return self._bracketed()
        match token.kind:
            case "number":
                return self.number(leading)
            case "letter":
                return self._name()
            case "word":
                raise Unreadable(f'the words "{token.text}" are left over')
            case "command":
                return self._command()
        raise Unreadable(f'"{token.text or "the end"}" where an operand is needed')

    def argument(self) -> Formula:
        r"""Read what a command takes: a braced group, one digit, or one sign."""
        if self.peek().text == "{":
            return self._bracketed()
        if self.peek().kind == "number":
            return Number(Fraction(self.split_number()))
        return self.atom(leading=False)

    def _bracketed(self) -> Formula:
        closing, head = _BRACKETS[self.take().text]
        start = self.at
        self.deeper()
        inner = self.expression()
        nested = any(token.text in ("(", "{") for token in self.tokens[start : self.at])
        require(closing != "]" or nested, "square brackets, which may mean a whole part")
        if closing == "}" and self.accept(r"\choose"):
            inner = Apply("binom", (inner, self.expression()))
        self.expect(closing)
        self.depth -= 1
        return Apply(head, (inner,)) if head else inner

    def _name(self) -> Formula:
        letters = self.take().text
        if len(letters) == 2 and letters.isupper():
            letters = "".join(sorted(letters))  # the segment AB is BA; a product it is not
        name = letters + self.subscript()
        if name in _CALLABLE and self.peek().text == "(" and self.peek().tight:
            return Apply(f"call:{name}", self._arguments())
        return Name(name)

    def _arguments(self) -> tuple[Formula, ...]:
        self.expect("(")
        self.deeper()
        found = [self.expression()]
        while self.accept(","):
            found.append(self.expression())
        self.expect(")")
        self.depth -= 1
        return tuple(found)

    def _command(self) -> Formula:
        command = self.take().text
        if command in (r"\zeta", r"\Gamma") and self.peek().text == "(":
            return Apply(f"call:{command[1:]}", self._arguments())
        if command in _SYMBOLS:
            return Name(command[1:] + self.subscript())
        if command in FUNCTIONS:
            return self._function(FUNCTIONS[command])
        if command == r"\frac":
            return Apply("/", (self.argument(), self.argument()))
        if command == r"\binom":
            return self._binomial()
        if command == r"\sqrt":
            return self._root()
        if command in (r"\sum", r"\prod"):
            return self._series(command[1:])
        if command in _DECORATIONS:
            return Name(f"{command[1:]}:{self.argument_of_subscript()}" + self.subscript())
        raise Unreadable(f'"{command}" is not in the grammar')

    def _binomial(self) -> Formula:
        if self.peek().text == "(":
            return Apply("binom", self._arguments())
        return Apply("binom", (self.argument(), self.argument()))

    def _root(self) -> Formula:
        index: Formula = Number(Fraction(2))
        if self.accept("["):
            index = self.expression()
            self.expect("]")
        if self.peek().kind == "number":
            return Apply("root", (self.number(leading=False), index))
        return Apply("root", (self.argument(), index))

    def _function(self, head: str) -> Formula:
        base = power = None
        while mark := self.accept("_", "^"):
            if mark == "_":
                base = self.argument()
            else:
                power = self.signed_argument()
        if power == Number(Fraction(-1)) and head in _INVERSES:
            head, power = _INVERSES[head], None
        if self.peek().text == "(":
            arguments = self._arguments()
        else:
            self.deeper()
            arguments = (self._bare_argument(),)
            self.depth -= 1
        require(base is None or head == "log", f'"{head}" with a subscript')
        applied = Apply(head, arguments if base is None else (*arguments, base))
        return Apply("^", (applied, power)) if power is not None else applied

    def signed_argument(self) -> Formula:
        """Read the argument of `^`: also `^-1` without braces."""
        if self.accept("-"):
            return Apply("neg", (self.argument(),))
        inner = self.argument()
        if (
            isinstance(inner, Apply)
            and inner.head == "neg"
            and isinstance(inner.arguments[0], Number)
        ):
            return Number(-inner.arguments[0].value)
        return inner

    def _bare_argument(self) -> Formula:
        r"""Read the argument of a function without brackets: `\sin 2x`, `\cos\frac\pi n`."""
        sign = self.accept("-")
        factors = [self.factor()]
        while self.peek().kind in ("number", "letter") or self.peek().text in _SYMBOLS | {r"\frac"}:
            factors.append(self.factor())
        inner = factors[0] if len(factors) == 1 else Apply("*", tuple(factors))
        return Apply("neg", (inner,)) if sign else inner

    def _series(self, head: str) -> Formula:
        self.expect("_")
        self.expect("{")
        index = self.atom(leading=False)
        if not isinstance(index, Name):
            raise Unreadable("a sum without an index")
        self.expect("=")
        low = self.expression()
        self.expect("}")
        self.expect("^")
        high = self.argument()
        self.deeper()
        body = self.summand()
        self.depth -= 1
        sequences = (name.partition("_")[2] for name in names_in(body))
        require(not any(index.text in place for place in sequences), "a sum over a sequence")
        return Apply(head, (body, index, low, high))

    def summand(self) -> Formula:
        """Read a product; the grammar gives it."""
        raise NotImplementedError
