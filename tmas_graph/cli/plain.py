"""Words of models and servers as a terminal can take them: nothing in them steers it."""

import re
from contextlib import suppress

from rich.console import Console
from rich.text import Text

_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls but for tab and newline, what turns the direction of writing, and lone surrogates."""


def plain(text: str) -> str:
    """`text` with an escape in place of each character that would steer a terminal."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def line(text: str) -> str:
    """`text` as `plain` gives it, on one line."""
    return plain(" ".join(text.split()))


def words(text: str, style: str = "") -> Text:
    """`text` for printing: no markup is read in it, and nothing in it steers the terminal."""
    return Text(plain(text), style=style)


def complain(message: str, style: str = "red") -> None:
    """Tell the user on the standard error what went wrong, or is otherwise worth a look."""
    with suppress(OSError):  # nobody is left to be told
        Console(stderr=True).print(words(f"tmas: {message}", style), soft_wrap=True)
