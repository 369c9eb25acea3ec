"""Draws the curves of `benchmarks.scaling`: by iteration, by token, and along each grid."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.curves import MEASURES, Found, figure, length
from tmas_graph.evaluation.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_all(
    found: Found,
    compared: Sequence[str],
    grids: Mapping[str, Sequence[float]],
    noises: Sequence[float],
    size: Any,
    folder: Path,
) -> None:
    """Write the plots into `folder`; none where matplotlib isn't installed."""
    try:
        import matplotlib  # noqa: F401, PLC0415  (an extra, and it takes a second)
    except ImportError:
        print('no plots: matplotlib isn\'t installed. Run: pip install "tmas-graph[plot]"')
        return
    run = [name for name in compared if name in found]
    ablations = [name for name in run if name.startswith("tmas")]
    rivals = [name for name in run if name not in ablations]
    _by_iteration_and_token(found, ablations, folder / "scaling-ablations.png")
    if rivals:
        _by_iteration_and_token(found, [*ablations[:1], *rivals], folder / "scaling-rivals.png")
    axes = _axes_of(grids, noises, size)
    there = {name: {x: e for x, e in axis.items() if e in found} for name, axis in axes.items()}
    _along_grids(
        found, {name: axis for name, axis in there.items() if axis}, folder / "scaling-grids.png"
    )


def _axes_of(
    grids: Mapping[str, Sequence[float]], noises: Sequence[float], size: Any
) -> dict[str, dict[float, str]]:
    """For each grid its values with the entrants that have them; TMAS itself is in all."""
    own = {"epsilon": 0.2, **asdict(size)}
    axes: dict[str, dict[float, str]] = {}
    for name, values in grids.items():
        places = {value: f"tmas[{name}={value}]" for value in values if value != own[name]}
        axes[name] = dict(sorted({**places, own[name]: "tmas"}.items()))
    axes["noise of checks"] = {0.0: "tmas", **{x: f"tmas, noise {x:g}" for x in noises}}
    return axes


def _by_iteration_and_token(found: Found, names: Sequence[str], file: Path) -> None:
    picture, axes = _panels(2, 2)
    for row, (title, measure) in zip(axes, MEASURES.items(), strict=True):
        for place, name in enumerate(names):
            runs = found[name]
            iterations = range(length(runs))
            tokens = [figure(runs, lambda point: point.tokens, t).value for t in iterations]
            points = [figure(runs, measure, t) for t in iterations]
            across = [float(t + 1) for t in iterations]
            for panel, x in ((row[0], across), (row[1], tokens)):
                _line(panel, x, points, name, place)
        row[0].set(xlabel="iteration", ylabel=f"{title}, %")
        row[1].set(xlabel="tokens per problem, so far", xscale="log")
    handles, labels = axes[0][0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3)
    picture.savefig(file, dpi=110)


def _along_grids(found: Found, grids: Mapping[str, Mapping[float, str]], file: Path) -> None:
    picture, axes = _panels(1, len(grids))
    for panel, (title, places) in zip(axes[0], grids.items(), strict=True):
        for place, (name, measure) in enumerate(MEASURES.items()):
            points = [figure(_same(found, places, entrant), measure) for entrant in places.values()]
            _line(panel, list(places), points, name, place)
        panel.set(xlabel=title, ylabel="at the end, %")
    axes[0][0].legend()
    picture.savefig(file, dpi=110)


def _same(found: Found, places: Mapping[float, str], name: str) -> Mapping[str, Any]:
    """The runs of an entrant on those problems that all of its grid have."""
    shared = set.intersection(*(set(found[one]) for one in places.values()))
    return {problem: runs for problem, runs in found[name].items() if problem in shared}


def _panels(rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure as Picture  # noqa: PLC0415

    # No pyplot: it would look for a screen, and keep every picture until the process ends.
    picture = Picture(figsize=(4.4 * columns + 1, 3.6 * rows), layout="constrained")
    return picture, picture.subplots(rows, columns, sharey=True, squeeze=False)


def _line(
    panel: "Axes", across: Sequence[float], points: Sequence[Any], label: str, place: int
) -> None:
    panel.errorbar(
        across,
        [100 * point.value for point in points],
        yerr=[100 * point.error for point in points],
        label=label,
        **style(place),
        markersize=4,
        capsize=2,
        linewidth=1,
    )
