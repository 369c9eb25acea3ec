import pytest
import torch

from tmas_graph.grpo.advantages import (
    AdvantageSettings,
    Scale,
    advantages,
    centred,
    spread,
    statistics,
)
from tmas_graph.grpo.rewards import Completion, Mode, Reward, RewardSettings, paired_p0, reward

SCALES: list[Scale] = ["none", "sample_std", "population_std"]
HYBRID = RewardSettings(experience_bonus=0.5)


@pytest.mark.parametrize(
    ("scale", "values"),
    [
        ("none", [0.75, -0.25, -0.25, -0.25]),
        ("sample_std", [1.5, -0.5, -0.5, -0.5]),
        ("population_std", [1.732051, -0.57735, -0.57735, -0.57735]),
    ],
)
def test_one_right_of_four(scale: Scale, values: list[float]) -> None:
    rewards = torch.tensor([1, 0, 0, 0], dtype=torch.float64)
    expected = torch.tensor(values, dtype=torch.float64)
    torch.testing.assert_close(centred(rewards, scale), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rewards", [[0.1] * 3, [-1.0] * 7, [0.5], []])
def test_constant_rewards_give_exactly_zero(scale: Scale, rewards: list[float]) -> None:
    assert centred(torch.tensor(rewards), scale).tolist() == [0] * len(rewards)


def single(p0: float, settings: RewardSettings = HYBRID) -> list[Reward]:
    """A group of one prompt that holds the bank: two right, two wrong."""
    given = Completion("experience", "some text")
    return [reward(given, correct, settings, p0=p0) for correct in (True, True, False, False)]


def paired(settings: RewardSettings = HYBRID) -> list[Reward]:
    """Half with the bank (two of two right), half without (one of two right)."""
    modes: list[Mode] = ["experience", "experience", "normal", "normal"]
    correct = [True, True, True, False]
    p0 = paired_p0(modes, correct)
    return [
        reward(Completion(mode, "some text"), right, settings, p0=p0)
        for mode, right in zip(modes, correct, strict=True)
    ]


@pytest.mark.parametrize("scale", ["sample_std", "population_std"])
def test_dividing_by_the_std_cancels_the_bonus_of_a_single_prompt(scale: Scale) -> None:
    settings = AdvantageSettings(scale=scale)
    assert advantages(single(p0=0.0), settings) == pytest.approx(
        advantages(single(p0=0.0, settings=RewardSettings.vanilla()), settings), abs=1e-12
    )


def test_without_the_std_a_single_prompt_keeps_its_bonus() -> None:
    hard, easy = advantages(single(p0=0.0)), advantages(single(p0=1.0))
    assert hard == pytest.approx((1.25, 1.25, -1.25, -1.25))
    assert easy == pytest.approx((1, 1, -1, -1))


@pytest.mark.parametrize("scale", SCALES)
def test_a_paired_group_keeps_its_bonus_under_any_scale(scale: Scale) -> None:
    settings = AdvantageSettings(scale=scale)
    with_bank, _, without, _ = advantages(paired(), settings)
    plain, _, plain_without, _ = advantages(paired(RewardSettings.vanilla()), settings)
    assert plain == plain_without
    assert with_bank > without
    assert with_bank / without > 1.1


def test_the_bonus_of_a_paired_group_is_by_the_rate_of_the_other_half() -> None:
    # Rewards 1.25, 1.25, 1, −1; their mean is .625.
    assert advantages(paired()) == pytest.approx((0.625, 0.625, 0.375, -1.625))


SHAPED_WRONG = [Reward(False, -1, overlong=-0.5), Reward(False, -1)]
SHAPED_RIGHT = [Reward(True, 1, guideline=0.5), Reward(True, 1, guideline=-1.5)]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_a_group_of_wrong_answers_teaches_nothing(scale: Scale, weight: float) -> None:
    settings = AdvantageSettings(scale=scale, equal_weight=weight)
    assert advantages(SHAPED_WRONG, settings) == (0, 0)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("weight", "values"), [(0, (0, 0)), (0.25, (0.25, -0.25))])
def test_a_group_of_right_answers_is_filtered_or_weighed_down(
    scale: Scale, weight: float, values: tuple[float, float]
) -> None:
    settings = AdvantageSettings(scale=scale, equal_weight=weight)
    assert advantages(SHAPED_RIGHT, settings) == values


def test_by_default_right_answers_learn_what_they_earn_besides_and_wrong_ones_nothing() -> None:
    assert advantages(SHAPED_RIGHT) == (0.5, -0.5)
    assert advantages(SHAPED_WRONG) == (0, 0)


def test_a_paired_group_that_is_all_right_has_no_bonus_to_learn_from() -> None:
    modes: list[Mode] = ["experience", "experience", "normal", "normal"]
    given = [Completion(mode, "some text") for mode in modes]
    p0 = paired_p0(modes, [True] * 4)
    assert advantages([reward(one, True, HYBRID, p0=p0) for one in given]) == (0, 0, 0, 0)


def test_statistics_are_sums_that_can_be_added_over_ranks() -> None:
    groups = [single(p0=0.0), SHAPED_RIGHT, SHAPED_WRONG]
    logged = statistics(groups)
    assert logged["reward/correctness/mean"] == (0, 8)
    assert logged["reward/experience/mean"] == (1.0, 8)
    assert logged["reward/experience/zero_std"] == (2, 3)
    assert logged["reward/correctness/zero_std"] == (2, 3)
    assert (logged["groups/all_right"], logged["groups/all_wrong"]) == ((1, 3), (1, 3))
    values = torch.tensor([0.5, 0.5, 0, 0, 0, 0, 0, 0])
    assert spread(logged, "experience") == pytest.approx(values.std(correction=0).item())


def test_statistics_of_nothing_are_zero() -> None:
    assert statistics([])["reward/correctness/mean"].value == 0
