"""Reads the fields of a JSON object by their kinds, and says exactly which one is wrong."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NoReturn, Self

from tmas_graph.errors import StorageError
from tmas_graph.settings import near


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one object, and where it stands."""

    values: Mapping[str, Any]
    where: str
    path: str = ""
    """Of the object within the line: `attempts[2].`."""
    _read: set[str] = field(default_factory=set)

    @classmethod
    def of_json(cls, line: str | bytes, where: str) -> Self:
        """Read `line`, which must hold one object.

        Raises:
            StorageError: it doesn't.
        """
        try:
            values = json.loads(line, parse_constant=_no_number)
        except (ValueError, RecursionError) as reason:
            raise StorageError(
                f"{where}: not JSON ({reason!s:.100}). Restore the line, or delete it."
            ) from reason
        if not isinstance(values, dict):
            raise StorageError(
                f"{where}: a {type(values).__name__}, not an object. "
                "Restore the line, or delete it."
            )
        return cls(values, where)

    def end(self) -> None:
        """Refuse what nobody has asked for: it may change what the rest means."""
        for name in self.values:
            if name not in self._read:
                raise StorageError(
                    f'{self.where}: unknown field "{self.path}{name:.40}"'
                    f"{near(name, sorted(self._read))}. "
                    "Read it with the version of tmas-graph that wrote it."
                )

    def text(self, name: str) -> str:
        """Any text."""
        value = self._value(name)
        return value if isinstance(value, str) else self._wrong(name, value, "a text")

    def name(self, name: str) -> str:
        """A text that isn't empty."""
        value = self.text(name)
        return value if value.strip() else self._wrong(name, value, "a name")

    def maybe_text(self, name: str) -> str | None:
        """A text, or null."""
        return None if self._value(name) is None else self.text(name)

    def one_of(self, name: str, values: Sequence[str]) -> Any:
        """One of `values`."""
        value = self._value(name)
        known = isinstance(value, str) and value in values
        return value if known else self._wrong(name, value, f"one of {', '.join(values)}")

    def count(self, name: str) -> int:
        """A whole number from 0."""
        value = self._value(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self._wrong(name, value, "a whole number from 0")

    def maybe_whole(self, name: str) -> int | None:
        """A whole number, or null."""
        value = self._value(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self._wrong(name, value, "a whole number or null")

    def amount(self, name: str) -> float:
        """A number from 0."""
        value = self._number(name)
        return value if value >= 0 else self._wrong(name, value, "a number from 0")

    def maybe_number(self, name: str) -> float | None:
        """A number, or null."""
        return None if self._value(name) is None else self._number(name)

    def part(self, name: str) -> "Fields":
        """An object."""
        return self._part(self._value(name), name)

    def parts(self, name: str) -> dict[str, "Fields"]:
        """An object of objects."""
        outer = self.part(name)
        return {each: outer.part(each) for each in outer.values}

    def several(self, name: str) -> list["Fields"]:
        """A list of objects."""
        values = self._value(name)
        if not isinstance(values, list):
            self._wrong(name, values, "a list")
        return [self._part(value, f"{name}[{place}]") for place, value in enumerate(values)]

    def _part(self, value: object, name: str) -> "Fields":
        if not isinstance(value, dict):
            self._wrong(name, value, "an object")
        return Fields(value, self.where, f"{self.path}{name}.")

    def _number(self, name: str) -> float:
        value = self._value(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                self._wrong(name, value, "a number of common size")
            if isfinite(number):
                return number
        self._wrong(name, value, "a number")

    def _value(self, name: str) -> Any:
        self._read.add(name)
        if name not in self.values:
            raise StorageError(
                f'{self.where}: no "{self.path}{name}" '
                f"(fields: {', '.join(self.values)[:200] or 'none'}). "
                "Restore the line, or delete it."
            )
        return self.values[name]

    def _wrong(self, name: str, value: object, kind: str) -> NoReturn:
        raise StorageError(
            f'{self.where}: "{self.path}{name}" is {_seen(value)}, not {kind}. '
            "Restore the line, or delete it."
        )


def _seen(value: object) -> str:
    """`value`, cut; a number may have more digits than Python is willing to print."""
    try:
        return f"{value!r:.60}"
    except ValueError:
        return "a number of thousands of digits"


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
