"""Ends a run whose rewards have collapsed, and says by which numbers."""

from collections.abc import Sequence
from statistics import fmean

from tmas_graph.errors import TrainingStopped
from tmas_graph.grpo.operation import StopSettings


def refuse_collapse(correct: Sequence[float], settings: StopSettings) -> None:
    """Look at the share of right completions of all steps so far.

    Raises:
        TrainingStopped: it has stayed under a share of its best for too long.
    """
    window = settings.collapse_steps
    if not settings.collapse_share or len(correct) <= window:
        return
    means = [fmean(correct[at : at + window]) for at in range(len(correct) - window)]
    best = max(means)
    bound = settings.collapse_share * best
    recent = correct[-window:]
    if max(recent) >= bound:
        return
    raise TrainingStopped(
        f"step {len(correct)}: the reward has collapsed: at most {max(recent):.3f} of the "
        f"completions were right in the last {window} steps, after {best:.3f} at best (mean over "
        f"{window} steps). Look at samples/ for what the policy has learned; resume from the last "
        "checkpoint with a lower learning rate, or set stops.collapse_share to 0 to go on."
    )
