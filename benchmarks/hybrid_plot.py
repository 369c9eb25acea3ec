"""Draws the course of the runs of `benchmarks.hybrid`: a panel for each measure."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure

_STYLES = {"hybrid": "-", "vanilla": "--"}


def draw(
    found: Mapping[str, Sequence[Mapping[str, Sequence[float]]]], steps: int, file: Path
) -> None:
    """Write a picture: means over seeds as lines, the least and the greatest as bands."""
    names = list(next(iter(found.values()))[0])
    picture = Figure(figsize=(3.6 * len(names), 3.2), layout="constrained")
    for name, panel in zip(names, picture.subplots(1, len(names), sharey=True), strict=True):
        for place, (preset, runs) in enumerate(found.items()):
            parts = list(zip(*(run[name][:-1] for run in runs), strict=True))  # last: the figure
            across = [steps * (at + 0.5) / len(parts) for at in range(len(parts))]
            least, most = ([100 * pick(part) for part in parts] for pick in (min, max))
            panel.fill_between(across, least, most, color=f"C{place}", alpha=0.2, linewidth=0)
            means = [100 * fmean(part) for part in parts]
            panel.plot(across, means, _STYLES[preset], color=f"C{place}", label=preset)
        panel.set(title=name, xlabel="step", ylim=(-3, 103))
    panel.legend()
    picture.savefig(file, dpi=110)
