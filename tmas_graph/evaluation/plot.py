"""Draws accuracy by iteration and by tokens, with its intervals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmas_graph.errors import MissingExtra, SettingsError
from tmas_graph.evaluation.comparing import Comparison
from tmas_graph.evaluation.entries import Entry
from tmas_graph.evaluation.metrics import Figure
from tmas_graph.evaluation.voting_at_tokens import Samples, Votes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_MARKERS = "osD^v<>Ph*"


@dataclass(frozen=True, slots=True)
class Line:
    """The points of one method, in both panels."""

    method: str
    iterations: tuple[tuple[float, Figure], ...]
    tokens: tuple[tuple[float, Figure], ...]


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
    for place, line in enumerate(lines_of(comparison)):
        _draw(left, line, line.iterations, place)
        _draw(right, line, line.tokens, place)
    left.set(xlabel="iteration", ylabel="selected answers that are right, %", ylim=(-3, 103))
    right.set(xlabel="tokens per problem, so far")
    left.locator_params(axis="x", integer=True)
    handles, labels = right.get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3)
    with matplotlib.rc_context({"svg.hashsalt": "tmas"}):  # the same data, the same file
        dated = {"Date": None} if file.suffix.lower() == ".svg" else {}
        picture.savefig(file, dpi=150, metadata=dated)


def lines_of(comparison: Comparison) -> list[Line]:
    """One line a method; that of self-consistency goes by the number of votes at the right."""
    methods = dict.fromkeys(entry.method for entry in comparison.by_iterations)
    lines = {name: _line(name, comparison.by_iterations) for name in methods}
    samples = comparison.samples
    if samples is not None:
        votes = tuple((k * samples.each, Votes(k, samples).selected) for k in _doubled(samples))
        own = lines.get(samples.label)
        by_iteration = own.iterations if own is not None else ()
        lines[samples.label] = Line(samples.label, by_iteration, votes)
    return list(lines.values())


def _line(method: str, entries: Sequence[Entry]) -> Line:
    mine = [e for e in entries if e.method == method and e.selected is not None]
    by_iteration = [(float(e.at), e.selected) for e in mine if e.selected]
    by_tokens = {e.tokens: e.selected for e in mine if e.selected and e.tokens is not None}
    return Line(method, tuple(by_iteration), tuple(by_tokens.items()))


def _doubled(samples: Samples) -> list[int]:
    powers = [2**power for power in range(samples.count.bit_length())]
    return sorted({*powers, samples.count})


def _draw(axes: "Axes", line: Line, points: Sequence[tuple[float, Figure]], place: int) -> None:
    figures = [figure for _, figure in points]
    axes.errorbar(
        [across for across, _ in points],
        [100 * figure.value for figure in figures],
        yerr=_arms(figures),
        label=line.method.replace("$", r"\$"),  # else it reads formulas
        capsize=3,
        **style(place),
    )


def style(place: int) -> dict[str, Any]:
    """How matplotlib draws the line at `place` of a picture: no other of its first hundred so."""
    ten, one = divmod(place, len(_MARKERS))
    return {
        "color": f"C{one}",
        "marker": _MARKERS[(one + ten) % len(_MARKERS)],
        "linestyle": ("-", "--")[ten % 2],
    }


def _arms(figures: Iterable[Figure]) -> tuple[list[float], list[float]]:
    """How far the interval reaches below and above each figure."""
    pairs = [(100 * (f.value - f.interval.low), 100 * (f.interval.high - f.value)) for f in figures]
    return [max(0.0, low) for low, _ in pairs], [max(0.0, high) for _, high in pairs]
