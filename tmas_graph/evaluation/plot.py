"""Draws accuracy by iteration and by tokens, with its intervals."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tmas_graph.errors import MissingExtra, SettingsError
from tmas_graph.evaluation.comparing import Comparison
from tmas_graph.evaluation.entries import Entry
from tmas_graph.evaluation.metrics import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")


def check(file: Path) -> None:
    """Refuse a file that can't be drawn into, before anything is worked out.

    Raises:
        SettingsError: its name has another ending.
        MissingExtra: matplotlib isn't installed.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise SettingsError(
            f"--plot: {file} ends in {file.suffix or 'nothing'!r}. Use {' or '.join(SUFFIXES)}."
        )
    try:
        import matplotlib  # noqa: F401, PLC0415  (an extra, and it takes a second)
    except ImportError as error:
        raise MissingExtra(
            'matplotlib isn\'t installed, and --plot needs it. Run: pip install "tmas-graph[plot]"'
        ) from error


def draw(comparison: Comparison, file: Path) -> None:
    """Write the picture to `file`, as its ending says.

    Raises:
        SettingsError: its name has another ending.
        MissingExtra: matplotlib isn't installed.
    """
    check(file)
    import matplotlib  # noqa: PLC0415
    from matplotlib.figure import Figure as Picture  # noqa: PLC0415

    # No pyplot: it would look for a screen, and keep every picture until the process ends.
    picture = Picture(figsize=(11, 4.5), layout="constrained")
    left, right = picture.subplots(1, 2, sharey=True)
    _lines(left, comparison.by_iterations, by_tokens=False)
    _lines(right, comparison.by_tokens, by_tokens=True)
    left.set(xlabel="iteration", ylabel="selected answers that are right, %", ylim=(-3, 103))
    right.set(xlabel="tokens per problem, so far")
    left.locator_params(axis="x", integer=True)
    handles, labels = right.get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3, parse_math=False)
    with matplotlib.rc_context({"svg.hashsalt": "tmas"}):  # the same data, the same file
        dated = {"Date": None} if file.suffix.lower() == ".svg" else {}
        picture.savefig(file, dpi=150, metadata=dated)


def _lines(axes: "Axes", entries: Sequence[Entry], *, by_tokens: bool) -> None:
    for place, method in enumerate(dict.fromkeys(entry.method for entry in entries)):
        mine = [entry for entry in entries if entry.method == method]
        shown = [(_across(e, by_tokens=by_tokens), e.selected) for e in mine if e.selected]
        across, figures = [x for x, _ in shown], [figure for _, figure in shown]
        axes.errorbar(
            across,
            [100 * figure.value for figure in figures],
            yerr=_arms(figures),
            label=method,
            marker="osD^v<>Ph*"[place % 10],
            capsize=3,
        )


def _across(entry: Entry, *, by_tokens: bool) -> float:
    if not by_tokens:
        return entry.at
    spent = entry.each(entry.spent.tokens if entry.spent else 0)
    return spent or 0.0


def _arms(figures: Iterable[Figure]) -> tuple[list[float], list[float]]:
    """How far the interval reaches below and above each figure."""
    pairs = [(100 * (f.value - f.interval.low), 100 * (f.interval.high - f.value)) for f in figures]
    return [max(0.0, low) for low, _ in pairs], [max(0.0, high) for _, high in pairs]
