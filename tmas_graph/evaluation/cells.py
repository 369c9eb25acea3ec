"""How single figures are written for people."""

from tmas_graph.evaluation.entries import Against
from tmas_graph.evaluation.metrics import Figure

NONE = "–"


def figure(value: Figure) -> str:
    """Percent ± standard error (interval)."""
    spread = NONE if value.standard_error is None else f"{100 * value.standard_error:.1f}"
    low, high = (round(100 * end) for end in (value.interval.low, value.interval.high))
    return f"{100 * value.value:.1f} ± {spread} ({low}–{high})"


def against(value: Against) -> str:
    """Difference in points (interval)."""
    found = value.difference
    low, high = (f"{100 * end:+.1f}" for end in (found.interval.low, found.interval.high))
    return f"{100 * found.value:+.1f} ({low} to {high})"


def chance(value: float) -> str:
    """A p, of which no more than three digits matter."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def whole(value: float) -> str:
    """A number whose fraction doesn't matter, in groups of three digits."""
    return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def short(value: float) -> str:
    """A number of any size, in about three digits."""
    return whole(value) if value >= 100 else f"{value:.3g}"
