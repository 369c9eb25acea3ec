"""`tmas memory`: look at what was learnt."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tmas_graph.cli import memory_upkeep
from tmas_graph.cli.memory_options import (
    Folder,
    Kind,
    Limit,
    ProblemId,
    Run,
    Server,
    Status,
    Thread,
    filters,
    finished,
    place_of,
    read_at,
)
from tmas_graph.cli.options import Config, Home, Json

if TYPE_CHECKING:
    from tmas_graph.cli.memory_source import Held, Source

app = typer.Typer(
    name="memory",
    help="Look at the experience of many problems, or of one thread, and look after it.",
    no_args_is_help=True,
)


@app.command("list")
def list_items(
    kind: Kind = None,
    status: Status = None,
    problem: ProblemId = None,
    run: Run = None,
    limit: Limit = 20,
    as_json: Json = False,
    thread: Thread = None,
    folder: Folder = None,
    server: Server = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """List items, the newest first; of a thread, in the order of its ledger."""
    meant = filters(kind=kind, status=status, problem=problem, run=run)
    place = place_of(home, config, folder, server, thread)
    from tmas_graph.cli import memory_views as views

    (found, all_of_it), source = read_at(place, lambda source: _looked_up(source, meant))
    ordered = found if thread else found[::-1]
    if as_json:
        views.print_json([one.plain() for one in ordered[:limit]])
    elif found:
        views.print_items(ordered[:limit], len(found), source.title)
    else:
        views.print_none(meant, all_of_it, source.title)


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="What it shall be about.")],
    kind: Kind = None,
    status: Status = None,
    problem: ProblemId = None,
    run: Run = None,
    limit: Limit = 10,
    as_json: Json = False,
    thread: Thread = None,
    folder: Folder = None,
    server: Server = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """List the items nearest to a text, with their similarity."""
    meant = filters(kind=kind, status=status, problem=problem, run=run)
    place = place_of(home, config, folder, server, thread)
    from tmas_graph.cli import memory_views as views

    async def searched(source: "Source") -> tuple[list["Held"], list["Held"]]:
        found = await source.search(text, meant, limit)
        return found, [] if found else await source.items({})

    (found, all_of_it), source = read_at(place, searched)
    near = [one for one in found if one.more["similarity"] > 0]
    if as_json:
        views.print_json([one.plain() for one in near])
    elif found:
        views.print_found(near, len(found) - len(near), source)
    else:
        views.print_none(meant, all_of_it, source.title)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="How an id begins, or E1 of a thread.")],
    as_json: Json = False,
    thread: Thread = None,
    folder: Folder = None,
    server: Server = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """Show all of one item: what it says, where it is from, how it stands."""
    place = place_of(home, config, folder, server, thread)
    from tmas_graph.cli import memory_source
    from tmas_graph.cli import memory_views as views

    one = memory_source.one_of(read_at(place, lambda source: source.items({}))[0], name)
    if as_json:
        views.print_json(one.plain())
    else:
        views.print_item(one)


@app.command()
def stats(
    as_json: Json = False,
    thread: Thread = None,
    folder: Folder = None,
    server: Server = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """Count items by kind, status, problem and run, and what they take on disk."""
    place = place_of(home, config, folder, server, thread)
    from tmas_graph.cli import memory_views as views

    async def told(source: "Source") -> dict[str, Any]:
        return views.statistics(await source.items({}), source)

    numbers, source = read_at(place, told)
    if as_json:
        views.print_json(numbers)
    else:
        views.print_statistics(numbers, source.title)


@app.command()
def strategies(
    thread: Annotated[str, typer.Argument(help="Its name; `tmas threads` lists them.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the strategies of a thread's guideline bank, and how each ended."""
    place = place_of(home, None, None, None, thread)
    from rich.console import Console

    from tmas_graph.cli import banks
    from tmas_graph.cli import memory_views as views
    from tmas_graph.cli.memory_thread import strategies_of

    found = finished(lambda: strategies_of(place, thread))
    if as_json:
        views.print_json(found)
    else:
        banks.print_strategies(Console(), found)


async def _looked_up(source: "Source", meant: dict[str, str]) -> tuple[list["Held"], list["Held"]]:
    """The items `meant` and, where there are none, all."""
    found = await source.items(meant)
    return found, [] if found else await source.items({})


app.command("export")(memory_upkeep.export_items)
app.command("import")(memory_upkeep.import_items)
app.command()(memory_upkeep.delete)
app.command()(memory_upkeep.reembed)
