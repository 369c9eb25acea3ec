"""A command of which no option or argument may be empty."""

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand

from tmas_graph.errors import SettingsError


class Filled(TyperCommand):
    """Refuses empty values: a shell's unset variable is none, and Path makes the folder of one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse `args`.

        Raises:
            SettingsError: a value is empty.
        """
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.get_params(ctx):
            if any(not text.strip() for text in _texts(given.get(param.name or ""))):
                option = param.opts[0].startswith("-")
                name = max(param.opts, key=len) if option else (param.name or "").upper()
                raise SettingsError(f"{name}: it is empty. Give a value, or leave it out.")
        return super().parse_args(ctx, args)


def _texts(value: object) -> Iterable[str]:
    values = value if isinstance(value, list | tuple) else (value,)
    return (each for each in values if isinstance(each, str))
