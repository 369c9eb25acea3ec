"""What the endpoint sampled, and what the optimiser learns from it.

Token ids are the server's own, never a tokenisation of the text anew: a text can be tokenised in
several ways, and the log-probabilities belong to one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple, Self

from tmas_graph.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion of one prompt, as the server has made it."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    """With the token that ends it, where the policy has ended it."""
    sampler_logprobs: tuple[float, ...] = ()
    """Of each completion token, by the server, at the temperature it was drawn at; empty: unknown,
    then no mismatch is weighed."""
    completion_mask: tuple[bool, ...] = ()
    """Which completion tokens count in the loss; empty: all of them."""
    text: str = ""
    finish_reason: str = "stop"
    version: int = 0
    """Of the policy when it was asked for."""
    seed: int = 0
    """Its own: that of the request, and its place in the group."""

    def __post_init__(self) -> None:
        """Refuse lengths that don't fit, and log-probabilities that aren't numbers.

        Raises:
            SettingsError: the sample can't be learned from.
        """
        if not self.prompt_ids:
            # The first completion token would have nothing that predicts it.
            raise SettingsError("sample: prompt_ids is empty. Give at least one prompt token.")
        for name in ("sampler_logprobs", "completion_mask"):
            given = len(getattr(self, name))
            if given not in (0, len(self.completion_ids)):
                raise SettingsError(
                    f"sample: {given} {name} for {len(self.completion_ids)} completion tokens. "
                    "Give one for each, or none."
                )
        for place, value in enumerate(self.sampler_logprobs):
            if not isfinite(value):
                raise SettingsError(
                    f"sample: sampler_logprobs[{place}] is {value}. Drop the sample; the server "
                    "must run with --logprobs-mode processed_logprobs."
                )

    @property
    def truncated(self) -> bool:
        """Did it meet its limit of tokens? The last token alone doesn't tell."""
        return self.finish_reason == "length"

    @property
    def length(self) -> int:
        """Tokens of prompt and completion."""
        return len(self.prompt_ids) + len(self.completion_ids)

    @property
    def counted(self) -> int:
        """Completion tokens that count in the loss."""
        return sum(self.completion_mask) if self.completion_mask else len(self.completion_ids)


Group = tuple[Sample, ...]
"""All completions that one mean reward is of."""


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """A sample with the advantage of all its tokens, and the group it belongs to."""

    sample: Sample
    group: int
    """Place of its group among those of the step, over all ranks."""
    advantage: float = 1.0
    """Unused by supervised fine-tuning."""
    old_logprobs: tuple[float, ...] = ()
    """By the trainer before the first of several steps on these rows; empty: as they are now."""

    def with_old(self, old_logprobs: tuple[float, ...]) -> Self:
        """Give the same row with other `old_logprobs`."""
        return replace(self, old_logprobs=old_logprobs)


class Rate(NamedTuple):
    """A quotient that isn't formed before both parts are summed over batches and ranks."""

    numerator: float
    denominator: float

    @property
    def value(self) -> float:
        """The quotient; 0 where nothing was counted."""
        return self.numerator / self.denominator if self.denominator else 0.0


def rows_of(
    groups: Sequence[Sequence[Sample]], advantages: Sequence[Sequence[float]]
) -> tuple[TrainingRow, ...]:
    """Join samples and advantages, group by group; groups without any advantage are left out.

    Their gradient is zero, so nothing is lost but their place in the denominators, as in DAPO's
    dynamic sampling.
    """
    kept = [
        (samples, values)
        for samples, values in zip(groups, advantages, strict=True)
        if any(value != 0.0 for value in values)
    ]
    return tuple(
        TrainingRow(sample, group, value)
        for group, (samples, values) in enumerate(kept)
        for sample, value in zip(samples, values, strict=True)
    )
