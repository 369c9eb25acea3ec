"""The grammar's numbers and subscripts: decimals, periods, bases, mixed numbers."""

from fractions import Fraction

from tmas_graph.answers.cursor import Cursor
from tmas_graph.answers.numbers import MAX_DIGITS
from tmas_graph.answers.syntax import Formula, Number, TooLarge, Unreadable
from tmas_graph.answers.tokens import require


class Numerals(Cursor):
    """Read one number."""

    def number(self, leading: bool) -> Formula:
        """Read a number; `leading` allows a mixed one."""
        text = self.take().text.replace(",", "")
        if len(text) > MAX_DIGITS:
            raise TooLarge(f"a number of more than {MAX_DIGITS} digits")
        if self.peek().text == r"\overline" and "." in text:
            return self._repeating(text)
        if self.peek().text == "_":
            return self._in_base(text)
        value = Number(Fraction(text.rstrip(".") or "0"), _digits(text))
        return self._mixed(value) if leading and text.isdigit() else value

    def _repeating(self, text: str) -> Formula:
        self.take()
        self.expect("{")
        period = self.take().text
        require(period.isdigit() and len(period) < MAX_DIGITS, "an unreadable repeating decimal")
        self.expect("}")
        after = len(text.partition(".")[2])
        tail = Fraction(int(period), 10**after * (10 ** len(period) - 1))
        return Number(Fraction(text.rstrip(".") or "0") + tail)

    def _in_base(self, digits: str) -> Formula:
        self.take()
        base = self.argument_of_subscript()
        require(base.isdigit() and 2 <= int(base[:3]) <= 36 and "." not in digits, "a subscript")
        try:
            return Number(Fraction(int(digits, int(base))))
        except ValueError as reason:
            raise Unreadable(f'"{digits}" has no reading in base {base}') from reason

    def _mixed(self, whole: Number) -> Formula:
        r"""Read `2\frac34` and `2 3/4` as 11/4, if the fraction is proper."""
        start, part = self.at, Fraction(0)
        if self.accept(r"\frac"):
            above, below = self.argument(), self.argument()
            if isinstance(above, Number) and isinstance(below, Number) and below.value:
                part = above.value / below.value
        elif [self.peek(n).kind for n in (0, 2)] == ["number"] * 2 and self.peek(1).text == "/":
            above_text, below_text = self.peek().text, self.peek(2).text
            if above_text.isdigit() and below_text.isdigit() and int(below_text):
                part = Fraction(int(above_text), int(below_text))
                self.at += 3
        if 0 < part < 1:
            return Number(whole.value + part)
        self.at = start
        return whole

    def subscript(self) -> str:
        """Read `_1`, `_{ij}` or primes as part of a name."""
        mark = ""
        if self.accept("_"):
            mark = "_" + self.argument_of_subscript()
        while self.accept("'"):
            mark += "'"
        return mark

    def argument_of_subscript(self) -> str:
        """Give the text of a subscript without its braces."""
        if not self.accept("{"):
            return self.take().text
        pieces = list[str]()
        while not self.accept("}"):
            require(not self.done(), "a subscript that never ends")
            pieces.append(self.take().text)
        return "".join(pieces)


def _digits(text: str) -> int:
    """Count the significant digits of a decimal; 0 for an integer, which is exact."""
    if "." not in text:
        return 0
    return len(text.lower().partition("e")[0].replace(".", "").lstrip("0"))
