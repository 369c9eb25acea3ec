"""`tmas memory`: look after what was learnt."""

from typing import TYPE_CHECKING, Annotated

import typer

from tmas_graph.cli.counting import counted
from tmas_graph.cli.memory_options import (
    Folder,
    Kind,
    ProblemId,
    Run,
    Server,
    Status,
    Thread,
    Yes,
    agreed,
    filters,
    finished,
    place_of,
    read_at,
)
from tmas_graph.cli.options import Config, Home, Json
from tmas_graph.cli.plain import line

if TYPE_CHECKING:
    from tmas_graph.cli.memory_changes import Chosen


def export_items(
    file: Annotated[str, typer.Argument(help="JSONL file to write; - is the standard output.")],
    kind: Kind = None,
    status: Status = None,
    problem: ProblemId = None,
    run: Run = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    thread: Thread = None,
    folder: Folder = None,
    server: Server = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """Write items to a file, one a line, with all that is known of them."""
    meant = filters(kind=kind, status=status, problem=problem, run=run)
    place = place_of(home, config, folder, server, thread)
    from tmas_graph.cli import memory_files
    from tmas_graph.memory.transfer import line_of

    found, _ = read_at(place, lambda source: source.items(meant))
    lines = [line_of(one.published) for one in found]
    memory_files.write(file, "".join(lines), force=force)
    if file != memory_files.STREAM:
        typer.echo(f"wrote {counted(len(lines), 'item')} to {file}")


def import_items(
    file: Annotated[str, typer.Argument(help="JSONL file as `export` writes it; - is stdin.")],
    no_dedup: Annotated[
        bool, typer.Option("--no-dedup", help="Take in what says the same in other words, too.")
    ] = False,
    as_json: Json = False,
    folder: Folder = None,
    server: Server = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """Take the items of a file into the library: all of them, or none if one is faulty."""
    place = place_of(home, config, folder, server)
    from tmas_graph.cli import memory_changes, memory_files
    from tmas_graph.cli import memory_views as views
    from tmas_graph.memory.transfer import read_lines

    given = read_lines(memory_files.read(file), file)
    done = finished(lambda: memory_changes.take_in(place, given, dedup=not no_dedup))
    told = {"new": len(done.new), "known": done.known, "merged": done.merged}
    if as_json:
        views.print_json(told)
    else:
        typer.echo(", ".join(f"{count} {name}" for name, count in told.items()))


def delete(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Items.")] = None,
    problem: ProblemId = None,
    run: Run = None,
    everything: Annotated[bool, typer.Option("--all", help="All items.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    folder: Folder = None,
    server: Server = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """Delete items from the library, or all of a problem, of a run, or all there are."""
    meant = filters(problem=problem, run=run)
    if "" in meant.values():  # of an unset variable in a shell, it would mean all that have none
        raise typer.BadParameter("--problem or --run is empty; give a name")
    _refuse_all_but_one(bool(ids), bool(meant), everything)
    place = place_of(home, config, folder, server)
    from tmas_graph.cli import memory_changes
    from tmas_graph.cli import memory_views as views

    found = finished(lambda: memory_changes.which(place, ids or [], meant))
    if found.ids and not yes and not agreed(f"Delete {_of_all(found)}?"):
        typer.echo("nothing is deleted", err=True)
        raise typer.Exit(1)
    finished(lambda: memory_changes.remove(place, found.ids))
    if as_json:
        views.print_json({"deleted": len(found.ids)})
    else:
        typer.echo(f"deleted {_of_all(found)}")


def reembed(
    as_json: Json = False,
    thread: Thread = None,
    folder: Folder = None,
    server: Server = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """Make all vectors anew with the embedder that the settings name; broken off, it goes on."""
    place = place_of(home, config, folder, server, thread)
    from tmas_graph.cli import memory_changes
    from tmas_graph.cli import memory_views as views

    with views.progress_bar("embedding") as progress:
        count = finished(lambda: memory_changes.reembed(place, progress))
    if as_json:
        views.print_json({"embedded": count})
    else:
        verb = "has" if count == 1 else "have"
        typer.echo(f"{counted(count, 'item')} {verb} new vectors")


def _refuse_all_but_one(named: bool, meant: bool, everything: bool) -> None:
    """Refuse none or several of the ways to say what to delete."""
    ways = "ids; --problem, --run or both; or --all"
    given = named + meant + everything
    if not given:
        raise typer.BadParameter(f"nothing says what to delete. Give one of these: {ways}.")
    if given > 1:
        raise typer.BadParameter(f"several things say what to delete. Give one of these: {ways}.")


def _of_all(chosen: "Chosen") -> str:
    """How many items are chosen, and of which library, in words."""
    count = len(chosen.ids)
    many = f"{count} of {chosen.all} items" if count < chosen.all else counted(count, "item")
    return f"{many} in {line(chosen.title)}"
