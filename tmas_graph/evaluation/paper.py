"""Lays results out as the paper's Table 1, beside its published numbers, and says what differs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tmas_graph.evaluation import metrics
from tmas_graph.evaluation.cells import NONE
from tmas_graph.evaluation.comparing import PAPER
from tmas_graph.evaluation.graded_only import graded_only
from tmas_graph.evaluation.majority import pool_of, share
from tmas_graph.evaluation.metrics import Figure
from tmas_graph.evaluation.tables import Plain, Report, Table, parts
from tmas_graph.evaluation.tracks import Standing, Track
from tmas_graph.evaluation.uniting import Evaluation, MethodRun
from tmas_graph.evaluation.voting_at_tokens import is_voting, plain_name

OURS, THEIRS = "ours", "paper"
ONCE = -1
"""In place of an iteration, for methods that have none."""
_VOTES = 64
"""Samples whose majority stands in Table 1."""
_NAMES = {
    "candidates": "N, candidates per iteration",
    "verifications": "M, checks per candidate",
    "iterations": "T, iterations",
    "epsilon": "ε, share of candidates that explore",
    "context_tokens": "context in tokens",
    "early_stop": "early stop",
}


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A line of the table."""

    benchmark: str
    model: str
    method: str
    whose: str
    cells: Mapping[int, Figure | float]
    """By iteration, as shares; what isn't known isn't there."""


@cache
def published() -> Mapping[str, Any]:
    """The numbers, their source and the settings behind them."""
    file = files("tmas_graph") / "evaluation" / "data" / "published.json"
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def paper(evaluation: Evaluation) -> Report:
    """Give Pass@1 at the iterations of Table 1, published and ours.

    Raises:
        SettingsError: no gold answer is known.
    """
    evaluation = graded_only(evaluation)
    tracks = [Track(run) for run in evaluation.methods.values()]
    known = published()["benchmarks"]
    ours = {track.run.setup.benchmark for track in tracks}
    shown = [name for name in known if name in ours] or list(known)
    strange = sorted(ours - set(shown))
    groups = {
        known[name]["title"] if name in known else name or "an unnamed benchmark": _rows(
            name, [track for track in tracks if track.run.setup.benchmark == name]
        )
        for name in (*shown, *strange)
    }
    notes = [f"the paper has no numbers on {name or 'this benchmark'}" for name in strange]
    notes += evaluation.notes
    notes += [note for track in tracks for note in track.notes()]
    return Report(
        tables=tuple(_table(f"Pass@1 % on {title}", rows) for title, rows in groups.items()),
        records=tuple(r for rows in groups.values() for row in rows for r in _records(row)),
        notes=(
            f"paper: {published()['source']}",
            "ours: % ± standard error over problems; once: methods without iterations",
            *notes,
            *(f"differs: {what}" for what in differences(tracks)),
        ),
        about={"source": published()["source"]},
    )


def _rows(benchmark: str, tracks: Sequence[Track]) -> list[PaperRow]:
    """Those of the paper, each with ours of the same model and method below it; then the rest."""
    left, rows = list(tracks), list[PaperRow]()
    for row in published()["rows"]:
        if benchmark not in row:
            continue
        rows.append(_published(benchmark, row))
        same = [track for track in left if _is_the_same(track.run, row)]
        rows += map(_ours, same)
        left = [track for track in left if track not in same]
    return [*rows, *map(_ours, left)]


def _is_the_same(run: MethodRun, row: Mapping[str, Any]) -> bool:
    method = plain_name(run.name)
    return method == row["ours"] and row["model"].lower() in run.model.lower()


def _published(benchmark: str, row: Mapping[str, Any]) -> PaperRow:
    places = published()["iterations"]
    values = [value / 100 for value in row[benchmark]]
    at = places if len(values) == len(places) else [ONCE]
    return PaperRow(
        benchmark, row["model"], row["method"], THEIRS, dict(zip(at, values, strict=True))
    )


def _ours(track: Track) -> PaperRow:
    run = track.run
    if is_voting(run.name):
        k, cells = _majority(track.at(track.iterations[-1]))
        return PaperRow(run.setup.benchmark, run.model, f"majority of {k}", OURS, cells)
    found = {t: track.at(t).pass_at_1 for t in PAPER if t in track.iterations}
    return PaperRow(run.setup.benchmark, run.model, run.name, OURS, found)


def _majority(standing: Standing) -> tuple[int, dict[int, Figure | float]]:
    """Majority of 64, or of as many as there are."""
    pools = {name: point.pool for name, point in standing.points.items()}
    k = min(_VOTES, standing.candidates)
    values = {name: share(pool_of(pool), min(k, len(pool))) for name, pool in pools.items()}
    return k, {ONCE: metrics.figure(values, metrics.counts_of(pools))}


def _table(title: str, rows: Sequence[PaperRow]) -> Table:
    columns = (ONCE, *PAPER)
    headings = ("model", "method", "whose", "once", *(f"It {t}" for t in PAPER))
    cells = [(row.model, row.method, row.whose, *(_cell(row, t) for t in columns)) for row in rows]
    ranks = (2, 0, 0, *(0 if t in (PAPER[0], PAPER[-1]) else 1 for t in columns))
    return Table(title, headings, tuple(cells), frozenset({0, 1, 2}), ranks)


def _cell(row: PaperRow, iteration: int) -> str:
    value = row.cells.get(iteration)
    if isinstance(value, Figure):
        spread = NONE if value.standard_error is None else f"{100 * value.standard_error:.2f}"
        return f"{100 * value.value:.2f} ± {spread}"
    return NONE if value is None else f"{100 * value:.2f}"


def _records(row: PaperRow) -> Iterator[dict[str, Plain]]:
    for iteration, value in row.cells.items():
        figure = value if isinstance(value, Figure) else None
        alone = {"pass_at_1": value} if isinstance(value, float) else {}
        yield {
            "benchmark": row.benchmark,
            "model": row.model,
            "method": row.method,
            "whose": row.whose,
            "iteration": None if iteration == ONCE else iteration,
            **parts("pass_at_1", figure),
            **alone,
            "problems": None if figure is None else figure.problems,
        }


def differences(tracks: Sequence[Track]) -> list[str]:
    """What was done otherwise than in the paper, or isn't known of it, in words."""
    found = dict[str, list[str]]()
    for track in tracks:
        for what in _of_one(track):
            found.setdefault(what, []).append(track.run.name)
    return [f"{what} ({', '.join(names)})" for what, names in found.items()]


def _said(value: object) -> str:
    if value is None:
        return "not set"
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _of_one(track: Track) -> Iterator[str]:
    run, theirs = track.run, published()
    models = dict.fromkeys(row["model"] for row in theirs["rows"])
    if not any(model.lower() in run.model.lower() for model in models):
        yield f"model: the paper {' and '.join(models)}; ours {run.model}"
    for name, value in theirs["settings"].items():
        if name in run.settings and run.settings[name] != value:
            yield f"{_NAMES[name]}: the paper {_said(value)}; ours {_said(run.settings[name])}"
    if "temperature" in run.settings:
        yield f"temperature: not stated in the paper; ours {run.settings['temperature']}"
    benchmark = theirs["benchmarks"].get(run.setup.benchmark)
    if benchmark is not None:
        yield f"problems: the paper {benchmark['version']}; ours {len(run.rows)}"
    yield f"version of the benchmark: ours {run.setup.version or 'unknown'}"
    first = track.at(0)
    samples = max(len(point.tries) for point in first.points.values())
    if samples != theirs["samples"]:
        yield f"samples per problem and iteration: the paper {theirs['samples']}; ours {samples}"
