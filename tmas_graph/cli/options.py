"""Options that several commands share, and what they become."""

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer


def _place(text: str) -> Path:
    if not text:  # Path would make the folder of it in which the command runs
        raise typer.BadParameter("it is empty; name a folder")
    return Path(text)


Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        parser=_place,
        metavar="<path>",
        help="State folder; default: TMAS_HOME, else a folder of the user's.",
        rich_help_panel="Where",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file instead of ./tmas.toml.", rich_help_panel="Where"),
]
Preset = Annotated[
    str | None,
    typer.Option(help="paper, fast or local.", rich_help_panel="Method"),
]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        help="One that `tmas methods` lists, or yours as MODULE:NAME; settings may follow: "
        "tmas\\[epsilon=0.5].",
        rich_help_panel="Method",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME,NAME[SETTING=VALUE],…",
        help="Methods, settings of their own in brackets, yours as MODULE:NAME; default: tmas.",
        rich_help_panel="Method",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        help="OpenAI-compatible server; without one, a local model.", rich_help_panel="Model"
    ),
]
ModelName = Annotated[
    str | None, typer.Option("--model", help="Name of the served model.", rich_help_panel="Model")
]
LocalModel = Annotated[
    str | None,
    typer.Option(
        help="Local model: a name, a GGUF file, or a Hugging Face GGUF id.", rich_help_panel="Model"
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option(
        "-N", "--candidates", help="N: candidates per iteration.", rich_help_panel="Method"
    ),
]
Verifications = Annotated[
    int | None,
    typer.Option(
        "-M", "--verifications", help="M: checks per candidate.", rich_help_panel="Method"
    ),
]
Iterations = Annotated[
    int | None,
    typer.Option("-T", "--iterations", help="T: iterations at most.", rich_help_panel="Method"),
]
Epsilon = Annotated[
    float | None,
    typer.Option(help="ε: share of candidates that explore.", rich_help_panel="Method"),
]
Seed = Annotated[int | None, typer.Option(help="Seeds all draws.", rich_help_panel="Method")]
MaxCalls = Annotated[
    int | None, typer.Option(help="Budget of model calls.", rich_help_panel="Method")
]
MaxTotalTokens = Annotated[
    int | None, typer.Option(help="Budget of tokens.", rich_help_panel="Method")
]
MaxCost = Annotated[
    float | None,
    typer.Option(help="Budget of money, in the currency of `prices`.", rich_help_panel="Method"),
]
MaxSeconds = Annotated[
    float | None, typer.Option(help="Budget of time, in seconds.", rich_help_panel="Method")
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting, for example roles.verification.model=x.",
        rich_help_panel="Method",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def home_of(option: Path | None) -> Path:
    """The state folder: the option, TMAS_HOME, or the user's.

    Raises:
        SettingsError: TMAS_HOME is empty.
    """
    if option is not None:
        return option.expanduser()
    if (given := os.environ.get("TMAS_HOME")) is not None:
        if not given:
            from tmas_graph.errors import SettingsError

            raise SettingsError("environment: TMAS_HOME is empty. Name a folder, or unset it.")
        return Path(given).expanduser()
    import platformdirs

    return platformdirs.user_state_path("tmas-graph")


def named(thread: str, home: Path) -> str:
    """How a command line names `thread` in the state folder `home`; only another one is said."""
    usual = home_of(None) if os.environ.get("TMAS_HOME") != "" else None
    return thread if home == usual else f"{thread} --home {shlex.quote(str(home))}"


def changes_of(assignments: list[str] | None, **options: Any) -> dict[str, Any]:
    """Settings that the command line gives: `--set` first, then the options that were used.

    Raises:
        SettingsError: an assignment has no value.
    """
    from tmas_graph.configuration import parse_assignment

    changes = dict(map(parse_assignment, assignments or []))
    changes.update({name: value for name, value in options.items() if value is not None})
    return changes
