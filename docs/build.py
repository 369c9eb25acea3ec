"""Writes the generated parts of README and docs: the graph, help pages, settings, live view.

`python docs/build.py` writes them; a test compares them with what is committed.
"""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from tmas_graph import Problem, Settings, build_graph
from tmas_graph.cli.live import LiveView
from tmas_graph.method_settings import Methods
from tmas_graph.records import Record
from tmas_graph.settings import PRESETS, Roles

ROOT = Path(__file__).parent.parent
RUN = ROOT / "docs/images/run.json"
"""Events of a real run of the demonstration, with seed 1: the picture of the live view."""
COMMANDS = (
    *("solve", "resume", "threads", "show", "settings", "models", "methods"),
    *("memory", "run", "estimate", "merge", "compare", "export", "grade", "problems"),
    *("train", "train data", "train serve", "train run", "train plot"),
)


def generated() -> dict[Path, str]:
    """Every generated file, with what should stand in it."""
    readme, compare = ROOT / "README.md", ROOT / "docs/how-to/compare.md"
    return {
        readme: with_block(readme.read_text(encoding="utf-8"), "graph", figure()),
        compare: with_block(compare.read_text(encoding="utf-8"), "table", comparison()),
        ROOT / "docs/reference/commands.md": commands(),
        ROOT / "docs/reference/settings.md": settings(),
        ROOT / "docs/images/live.svg": live_view(),
    }


def figure() -> str:
    """The graph as Mermaid, drawn from the compiled graph itself, with short names."""
    text = build_graph().get_graph(xray=True).draw_mermaid(with_styles=False)
    renamed = {
        "rollout\\3a__start__": "candidate",
        "rollout\\3a__end__": "done",
        "rollout\\3a": "",
        "&nbsp;": "",
        "__start__": "problem",
        "__end__": "answer",
    }
    for old, new in renamed.items():
        text = text.replace(old, new)
    return f"```mermaid\n{text.strip()}\n```"


def commands() -> str:
    """The help page of every command."""
    pages = ["# Commands\n\nWritten by `make docs` from the program itself.\n"]
    for name in ("", *COMMANDS):
        pages.append(f"## tmas {name}".rstrip() + f"\n\n```text\n{_help(name.split())}\n```\n")
    return "\n".join(pages)


def settings() -> str:
    """The table of settings and presets."""
    lines = [
        "# Settings",
        "",
        "Written by `make docs` from the program itself. Each can stand in `tmas.toml`, in the",
        "environment (`TMAS_` and its name in capitals, `__` for a dot) or after `--set`.",
        "",
        f"| setting | default | {' | '.join(PRESETS)} | what it is |",
        f"|---|---|{'---|' * len(PRESETS)}---|",
    ]
    for name, field in Settings.model_fields.items():
        if name in ("roles", "methods"):
            continue
        default = field.get_default(call_default_factory=True)
        presets = [_value(p[name]) if name in p else "" for p in PRESETS.values()]
        about = (field.description or "").replace("|", "\\|")
        lines.append(f"| `{name}` | {_value(default)} | {' | '.join(presets)} | {about} |")
    roles = ", ".join(f"`{role}`" for role in Roles.model_fields)
    lines += [
        "",
        "Everything about endpoints and sampling (`base_url` to `truncated`) can differ by role,",
        f"as `roles.ROLE.NAME`; the roles are {roles}. Roles at one server have one limit:",
        "`concurrency`, `requests_per_minute` and `tokens_per_minute` are set once for them.",
        "",
        "## Of single methods",
        "",
        "| setting | default | what it is |",
        "|---|---|---|",
    ]
    for method, kind in Methods.model_fields.items():
        for name, field in type(kind.default).model_fields.items():
            about = (field.description or "").replace("|", "\\|")
            default = _value(field.default)
            lines.append(f"| `methods.{method}.{name}` | {default} | {about} |")
    lines.append("")
    return "\n".join(lines)


def comparison() -> str:
    """What `tmas compare` prints of the small made run, in a terminal of 100 letters."""
    return f"```text\n{_output(['compare', 'tests/cases/runs/small'], columns=100)}\n```"


def live_view() -> str:
    """The picture of the live view, from the recorded run."""
    run = json.loads(RUN.read_text(encoding="utf-8"))
    problem, given = Problem(run["question"]), Settings.preset("local")
    record = Record(run["thread"], problem, given, {}, {}, 1, "running", "", "", "")
    console = Console(record=True, width=96, force_terminal=True, file=io.StringIO())
    view = LiveView(console, seconds=lambda: run["seconds"])
    view.begin(record)
    for event in run["events"]:
        view.on_event(event)
    console.print(view.picture())
    return console.export_svg(title="tmas solve", unique_id="live")


def with_block(text: str, name: str, content: str) -> str:
    """`text` with `content` between the comments that mark the block `name`."""
    begin, end = f"<!-- {name}: made by `make docs` -->", f"<!-- /{name} -->"
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n{content}\n{end}{after}"


def _help(arguments: list[str]) -> str:
    return _output([*arguments, "--help"], columns=88)


def _output(arguments: list[str], *, columns: int) -> str:
    """What `tmas` prints, as a plain terminal shows it."""
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tmas_graph", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=ROOT,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def _value(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):  # as it is typed
        return f"`{list(value)}`"
    return "`{}`" if value == {} else f"`{value}`"


if __name__ == "__main__":
    for path, content in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
