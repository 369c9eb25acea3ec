"""A long run against a server that fails, killed again and again, and what is left of it.

    python -m benchmarks.soak [--problems 2000] [--kill-every 30] [--errors 0.05] [--json FILE]

`tmas run` solves the problems with TMAS, is killed with −9 every so many seconds and resumed,
until it ends by itself. Of the requests 5 % are answered with an error, 1 % never or not to their
end, 2 % are truncated. Then every problem must have ended once; rows, stored calls and server
must agree on what was spent, but for answers that came just before a kill; and memory and
descriptors of the process must not grow with the problems that it has finished. The exit status
is 1 where that isn't so. `--kill-every 0` lets one process do all of it.
"""

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import soak_checks as checks
from benchmarks.quick.process import answers, counts, problems_file, quick_server
from benchmarks.results import add_json, written
from benchmarks.soak_sittings import Sitting, sittings

MOST_GROWTH = {"megabytes": 25.0, "descriptors": 5.0}
"""For each 1 000 problems."""
_SHARES = (0.5, 0.95, 1.0)


def soaked(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run it, and look at what came of it."""
    faults = {name: getattr(given, name) for name in ("errors", "hangs", "cuts")}
    with quick_server(latency=given.latency, **faults) as url:
        file = problems_file(folder / "problems.jsonl", given.problems)
        since = time.monotonic()
        made = sittings(folder / "run", _arguments(given, file, url), given.kill_every)
        seconds = time.monotonic() - since
        told, answered = counts(url), answers(url)
    found = looked_at(folder / "run", made, told, answered, given)
    return {"seconds": seconds, "sittings": len(made), **found}


def _arguments(given: argparse.Namespace, file: Path, url: str) -> list[str]:
    values = {
        "concurrency": given.concurrency,
        "stall_seconds": given.stall,
        "timeout_seconds": given.timeout,
        "early_stop": "false",
    }
    named = [f"--set={name}={value}" for name, value in values.items()]
    size = [
        "-N",
        str(given.candidates),
        "-M",
        str(given.verifications),
        "-T",
        str(given.iterations),
    ]
    return ["run", str(file), "--method=tmas", f"--base-url={url}", "--preset=paper", *size, *named]


def looked_at(
    folder: Path,
    made: list[Sitting],
    told: Mapping[str, int],
    answered: list[tuple[str, float]],
    given: argparse.Namespace,
) -> dict[str, Any]:
    """All figures, and which of the claims hold."""
    ended, rows = checks.problems(folder), checks.of_rows(folder)
    store = asyncio.run(checks.of_store(folder))
    kills = [sitting.killed for sitting in made if sitting.killed is not None]
    again = checks.repeated(answered, kills, given.grace)
    twice = len(answered) - len({digest for digest, _ in answered})
    growth = {name: checks.slope(made, name) for name in MOST_GROWTH}
    lost = told["answered"] - store.answered
    claims = {
        "each problem ended once": len(ended) == given.problems and set(ended.values()) == {1},
        "rows and stored calls agree": (rows.calls, rows.completion_tokens)
        == (store.requests, store.completion_tokens),
        "stored calls and server agree, but for lost answers": 0 <= lost <= again.after_kills,
        "no call was repeated but what was lost": again.others == 0 and twice == again.after_kills,
        "the database is sound": checks.is_sound(folder / "tmas.sqlite"),
        **{
            f"{name} are flat": growth[name] is None or growth[name] <= most  # type: ignore[operator]
            for name, most in MOST_GROWTH.items()
        },
    }
    return {
        "kills": len(kills),
        "problems": len(ended),
        "rows": {"requests": rows.calls, "completion_tokens": rows.completion_tokens},
        "store": asdict(store),
        "server": dict(told),
        "lost": lost,
        "repeated": asdict(again) | {"leads": {str(x): again.lead(x) for x in _SHARES}},
        "growth_per_1000": growth,
        "most_by_sitting": {name: [x.most(name) for x in made] for name in MOST_GROWTH},
        "finished_by_sitting": [sitting.finished for sitting in made],
        "claims": claims,
    }


def table(found: Mapping[str, Any]) -> Table:
    """What was found, a line each."""
    shown = Table("what", "figure")
    server, again = found["server"], found["repeated"]
    faults = ", ".join(f"{server.get(name, 0):,} {name}s" for name in ("error", "hang", "cut"))
    leads = " / ".join(f"{1000 * lead:.0f}" for lead in again["leads"].values()) + " ms"
    growth = {name: "unknown" if x is None else f"{x:+.1f}" for name, x in
              found["growth_per_1000"].items()}  # fmt: skip
    most = {name: max(values) for name, values in found["most_by_sitting"].items()}
    lines = {
        "problems ended": f"{found['problems']:,} in {found['seconds']:.0f} s",
        "killed with −9": f"{found['kills']} times, in {found['sittings']} sittings",
        "faults of the server": faults,
        "requests by rows / stored calls": f"{found['rows']['requests']:,} / "
        f"{found['store']['requests']:,}",
        "answered by stored calls / server": f"{found['store']['answered']:,} / "
        f"{server['answered']:,}",
        "answers lost to kills, and asked for again": f"{again['after_kills']}",
        "came before the kill, median / 95 % / all": leads,
        "other repeated calls": f"{again['others']}",
        "MB at most, growth in 1 000 problems": f"{most['megabytes']:.0f}, {growth['megabytes']}",
        "descriptors at most, growth likewise": f"{most['descriptors']}, {growth['descriptors']}",
    }
    for what, figure in lines.items():
        shown.add_row(what, figure)
    for claim, holds in found["claims"].items():
        shown.add_row(claim, "yes" if holds else "NO")
    return shown


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    shares = {"errors": 0.05, "hangs": 0.01, "cuts": 0.02}
    seconds = {"latency": 1.0, "stall": 5.0, "timeout": 60.0, "kill-every": 30.0, "grace": 0.1}
    sizes = {"problems": 2000, "candidates": 2, "verifications": 2, "iterations": 2}
    for name, default in (shares | seconds).items():
        parser.add_argument(f"--{name}", type=float, default=default)
    for name, count in (sizes | {"concurrency": 64}).items():
        parser.add_argument(f"--{name}", type=int, default=count)
    add_json(parser)
    return parser.parse_args(arguments)


def main() -> None:
    """Run it and print."""
    given = options()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as place:
        found = soaked(given, Path(place))
    Console(width=110).print(table(found))
    written(given.json, "soak", given, found)
    sys.exit(0 if all(found["claims"].values()) else 1)


if __name__ == "__main__":
    main()
