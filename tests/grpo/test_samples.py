import pytest

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.samples import Rate, Sample, rows_of


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prompt_ids": ()}, "prompt_ids is empty"),
        ({"sampler_logprobs": (-1.0,)}, "1 sampler_logprobs for 2 completion tokens"),
        ({"completion_mask": (True,) * 3}, "3 completion_mask for 2 completion tokens"),
        ({"sampler_logprobs": (-1.0, float("-inf"))}, r"sampler_logprobs\[1\] is -inf"),
    ],
)
def test_a_sample_that_cannot_be_learned_from_is_refused(given: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Sample(**{"prompt_ids": (1,), "completion_ids": (2, 3), **given})


def test_only_unmasked_completion_tokens_count() -> None:
    assert Sample((1,), (2, 3)).counted == 2
    assert Sample((1,), (2, 3), completion_mask=(True, False)).counted == 1


def test_groups_without_any_advantage_are_left_out() -> None:
    one = Sample((1,), (2,))
    rows = rows_of([[one] * 2, [one] * 2, [one] * 2], [[0.0, 0.0], [1.0, -1.0], [0.0, 0.5]])
    assert [(row.group, row.advantage) for row in rows] == [(0, 1), (0, -1), (1, 0), (1, 0.5)]


def test_a_rate_of_nothing_is_zero() -> None:
    assert (Rate(1, 4).value, Rate(0, 0).value) == (0.25, 0)
