"""A place in a list of tokens, and the pieces of the grammar that only move it."""

from collections.abc import Sequence

from tmas_graph.answers.syntax import Formula, TooLarge, Unreadable
from tmas_graph.answers.tokens import Token

MAX_DEPTH = 40
_END = Token("sign", "")


class Cursor:
    """Read tokens one by one; `depth` keeps the recursion of the grammar bounded."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        """Start before the first of `tokens`."""
        self.tokens = list(tokens)
        self.at = 0
        self.depth = 0

    def peek(self, ahead: int = 0) -> Token:
        """Look at a token without taking it; an empty sign past the end."""
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else _END

    def take(self) -> Token:
        """Take the next token."""
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *texts: str) -> str | None:
        """Take the next token if it is one of `texts`."""
        if self.at < len(self.tokens) and self.peek().text in texts:
            return self.take().text
        return None

    def expect(self, *texts: str) -> None:
        """Take the next token, which must be one of `texts`."""
        if not self.accept(*texts):
            raise Unreadable(f'"{self.peek().text or "the end"}" where "{texts[0]}" is needed')

    def done(self) -> bool:
        """Are all tokens taken?"""
        return self.at >= len(self.tokens)

    def split_number(self) -> str:
        r"""Take one digit of the number that comes next: `\frac12` has two arguments."""
        token = self.peek()
        first, rest = token.text[0], token.text[1:]
        if not first.isdigit():
            raise Unreadable(f'"{token.text}" where a digit is needed')
        if rest:
            self.tokens[self.at] = Token("number", rest)
        else:
            self.at += 1
        return first

    def deeper(self) -> None:
        """Go one level down.

        Raises:
            TooLarge: the formula nests too deeply.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLarge(f"the formula nests deeper than {MAX_DEPTH}")

    def argument(self) -> Formula:
        """Read what a command takes; the grammar gives it."""
        raise NotImplementedError

    def expression(self) -> Formula:
        """Read a sum; the grammar gives it."""
        raise NotImplementedError

    def factor(self, *, leading: bool = False) -> Formula:
        """Read a factor with its powers; the grammar gives it."""
        raise NotImplementedError
