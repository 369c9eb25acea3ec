"""Draws what metrics.jsonl of a run, or of several runs, says: a panel for each question."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tmas_graph.errors import MissingExtra, SettingsError, StorageError
from tmas_graph.grpo.metrics import read

PANELS: Mapping[str, tuple[str, str]] = {
    "reward, by part": ("train", "reward/*/mean"),
    "right completions": ("train", "correct*"),
    "tokens of a completion": ("train", "length"),
    "entropy": ("train", "entropy"),
    "tokens clipped": ("train", "clip/*"),
    "mismatch with the server": ("train", "mismatch_kl"),
    "novelty": ("train", "novelty/*"),
    "judge of novelty": ("train", "judge/*"),
    "negative log-likelihood": ("train", "nll"),
    "held out, pass@1": ("held_out", "pass@1/*"),
    "TMAS with the policy": ("tmas", "*/iteration_*"),
}
"""Title to kind of record and pattern of names; a panel without a curve is left out."""
SUFFIXES = (".png", ".svg")
_STYLES = ("-", "--", ":", "-.")
_COLUMNS = 3

Curves = dict[str, tuple[list[float], list[float]]]


def curves_of(records: Sequence[Mapping[str, Any]], kind: str, pattern: str) -> Curves:
    """Give steps and values of each name that fits, of records of `kind`."""
    from fnmatch import fnmatchcase  # noqa: PLC0415

    curves: Curves = {}
    for record in records:
        if record["kind"] != kind:
            continue
        for name in record:
            if fnmatchcase(name, pattern):
                steps, values = curves.setdefault(name, ([], []))
                steps.append(record["step"])
                values.append(record[name])
    return curves


def draw(runs: Sequence[Path], file: Path) -> None:
    """Write a picture of `runs`, each in a line style of its own.

    Raises:
        SettingsError: the file's name has another ending.
        StorageError: a run has no metrics, or the file can't be written.
        MissingExtra: matplotlib isn't installed.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise SettingsError(
            f"--out: {file} ends in {file.suffix or 'nothing'!r}. Use {' or '.join(SUFFIXES)}."
        )
    records = {run: _records(run) for run in runs}
    panels = [
        (title, [(run, curves_of(records[run], *wanted)) for run in runs])
        for title, wanted in PANELS.items()
    ]
    _draw([(title, found) for title, found in panels if any(c for _, c in found)], file)


def _records(run: Path) -> list[dict[str, Any]]:
    found = read(run)
    if not found:
        raise StorageError(f"{run}: no metrics.jsonl with a line is there. Give a run's folder.")
    return found


def _draw(panels: Sequence[tuple[str, Sequence[tuple[Path, Curves]]]], file: Path) -> None:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (an extra, and it takes a second)
    except ImportError as error:
        raise MissingExtra(
            "matplotlib isn't installed, and a picture needs it. "
            'Run: pip install "tmas-graph[plot]"'
        ) from error
    rows = -(-len(panels) // _COLUMNS)
    picture = Figure(figsize=(5 * _COLUMNS, 3.2 * rows), layout="constrained")
    grid = picture.subplots(rows, _COLUMNS, squeeze=False).flat
    for (title, found), axes in zip(panels, grid, strict=False):
        names = sorted({name for _, curves in found for name in curves})
        for place, (run, curves) in enumerate(found):
            for name, (steps, values) in curves.items():
                label = name if len(found) == 1 else f"{name}, {run.name}"
                axes.plot(
                    steps,
                    values,
                    _STYLES[place % len(_STYLES)],
                    color=f"C{names.index(name) % 10}",
                    label=label.replace("$", r"\$"),  # else it reads formulas
                )
        axes.set(title=title, xlabel="step")
        axes.legend(fontsize="x-small")
    for axes in grid:
        axes.remove()
    try:
        picture.savefig(file, dpi=120)
    except OSError as error:
        raise StorageError(
            f"{file}: can't be written ({error.strerror}). Give another file by --out."
        ) from error
