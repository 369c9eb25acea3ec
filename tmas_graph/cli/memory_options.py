"""Options of `tmas memory`, and what becomes of them."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tmas_graph.cli.options import changes_of, home_of

if TYPE_CHECKING:
    from tmas_graph.cli.memory_source import Place, Source

_T = TypeVar("_T")
Folder = Annotated[
    str | None,
    typer.Option(
        "--memory-folder",
        help="Its folder; default: the setting memory_folder, else the state folder's library.",
        rich_help_panel="Where",
    ),
]
Server = Annotated[
    str | None,
    typer.Option("--memory-server", help="A Chroma server that holds it.", rich_help_panel="Where"),
]
Thread = Annotated[
    str | None,
    typer.Option(help="The bank of this thread instead of the library.", rich_help_panel="Where"),
]
Kind = Annotated[str | None, typer.Option(help="conclusion, technique or pitfall.")]
Status = Annotated[str | None, typer.Option(help="open, supported or refuted.")]
ProblemId = Annotated[str | None, typer.Option("--problem", help="Id of a problem.")]
Run = Annotated[str | None, typer.Option(help="Name of a run.")]
Limit = Annotated[int, typer.Option(min=1, max=1_000_000, help="How many.")]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask.")]


def filters(**values: str | None) -> dict[str, str]:
    """The filters that were given.

    Raises:
        typer.BadParameter: there is no such kind or status.
    """
    given = {name: value for name, value in values.items() if value is not None}
    from tmas_graph.memory.items import KINDS
    from tmas_graph.memory.ledger import STATUSES
    from tmas_graph.settings import near

    for name, known in (("kind", KINDS), ("status", STATUSES)):
        if (value := given.get(name, known[0])) not in known:
            *first, last = known
            raise typer.BadParameter(
                f"--{name}: there is no {value!r}{near(value, known)}. "
                f"It is one of {', '.join(first)} and {last}."
            )
    return given


def place_of(
    home: Path | None,
    config: Path | None,
    folder: str | None,
    server: str | None,
    thread: str | None = None,
) -> "Place":
    """Where the options say to look, with the settings that hold here."""
    from tmas_graph.cli.memory_source import Place
    from tmas_graph.configuration import load

    if thread is not None and not folder is server is None:
        raise typer.BadParameter("a thread knows where its bank is: give --thread alone")
    changes = changes_of(None, memory_folder=folder, memory_server=server)
    if folder:
        changes["memory_server"] = server  # which would win, from wherever it is set
    return Place(home_of(home), load(config, changes=changes).settings, thread)


def read_at(place: "Place", work: Callable[["Source"], Awaitable[_T]]) -> tuple[_T, "Source"]:
    """What `work` gives, done at `place`, and what is there."""
    from tmas_graph.cli.memory_source import source_at

    async def reading() -> "tuple[_T, Source]":
        async with source_at(place) as source:
            return await work(source), source

    return finished(reading)


def agreed(question: str) -> bool:
    """Whether the user says yes; who can't be asked doesn't."""
    typer.echo(f"{question} [y/N]: ", err=True, nl=False)  # the standard output is for results
    said = sys.stdin.readline()
    if not said:
        typer.echo("", err=True)
        typer.echo("nobody answered; --yes deletes without a question", err=True)
    return said.strip().lower() in ("y", "yes")


def finished(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """What `work` gives, when it has."""
    return asyncio.run(work())
