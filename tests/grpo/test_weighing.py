import pytest
import torch

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.loss import LossInputs, LossSettings, policy_loss
from tmas_graph.grpo.weighing import Normaliser, weights

LENGTHS, GROUPS = [2, 4, 1, 1], [0, 0, 1, 1]
GOLDEN: list[tuple[Normaliser, float]] = [
    ("group", -0.003333),
    ("batch", 0.115),
    ("sequence", -0.17),
    ("constant", 0.0575),
]


@pytest.mark.parametrize(("normaliser", "loss"), GOLDEN)
def test_two_groups_of_different_lengths(normaliser: Normaliser, loss: float) -> None:
    row_N = torch.arange(4).repeat_interleave(torch.tensor(LENGTHS))
    ratios_R = torch.tensor([1.1, 0.9, 1.5, 0.5], dtype=torch.float64)
    advantages_R = torch.tensor([1, -1, 1, -1], dtype=torch.float64)
    given = LossInputs(
        ratios_R.log()[row_N],
        torch.zeros(8, dtype=torch.float64),
        advantages_R[row_N],
        row_N,
        weights(LENGTHS, GROUPS, normaliser, constant=4),
    )
    assert policy_loss(given, LossSettings()).loss.item() == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize(("normaliser", "_"), GOLDEN)
def test_rows_of_a_group_may_be_on_different_ranks(normaliser: Normaliser, _: float) -> None:
    whole = weights(LENGTHS, GROUPS, normaliser, constant=4)
    mine, theirs = ([0, 3], [1, 2])
    sent: list[list[torch.Tensor]] = [[], []]

    def ask(places: list[int], who: int) -> torch.Tensor:
        """Run one rank; what it can't know yet is what it had from the other the last time."""
        call = iter(range(2))

        def summed(values: torch.Tensor) -> torch.Tensor:
            at = next(call)
            sent[who][at:] = [values]
            other = sent[1 - who]
            fits = len(other) > at and other[at].shape == values.shape
            return values + other[at] if fits else 2 * values

        lengths, groups = [LENGTHS[p] for p in places], [GROUPS[p] for p in places]
        return weights(lengths, groups, normaliser, constant=4, summed=summed)

    for _round in range(3):
        here, there = ask(mine, 0), ask(theirs, 1)
    torch.testing.assert_close(here, whole[mine])
    torch.testing.assert_close(there, whole[theirs])


@pytest.mark.parametrize(("normaliser", "_"), GOLDEN)
def test_rows_without_a_counted_token_are_in_no_denominator(
    normaliser: Normaliser, _: float
) -> None:
    whole = weights(LENGTHS, GROUPS, normaliser, constant=4)
    more = weights([*LENGTHS, 0, 0], [*GROUPS, 1, 2], normaliser, constant=4)
    assert torch.equal(more, torch.cat([whole, torch.zeros(2)]))


@pytest.mark.parametrize(("normaliser", "_"), GOLDEN)
def test_without_any_token_all_weights_are_zero(normaliser: Normaliser, _: float) -> None:
    assert weights([0, 0], [0, 1], normaliser, constant=4).tolist() == [0, 0]
    assert weights([], [], normaliser, constant=4).tolist() == []


def test_a_constant_length_must_be_given() -> None:
    with pytest.raises(SettingsError, match="constant needs a length, and it is 0"):
        weights([1], [0], "constant")
