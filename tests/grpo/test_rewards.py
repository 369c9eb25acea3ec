import pytest

from tmas_graph.grpo.rewards import (
    Completion,
    Mode,
    Novelty,
    Reward,
    RewardSettings,
    is_correct,
    overlong,
    paired_p0,
    reward,
)

SETTINGS = RewardSettings(experience_bonus=0.4, novelty_bonus=0.3, listed_penalty=0.2)
BANK = (
    "Pair the terms from both ends, since each of the pairs has the same sum, and count the pairs "
    "before you multiply.",
)
SOLVED = r"Ten pairs of 11 make 110. \boxed{110}"


def right(text: str, gold: str) -> bool:
    """A grader that reads the last box."""
    return text.rpartition(r"\boxed{")[2].startswith(gold + "}")


@pytest.mark.parametrize(
    ("mode", "p0", "novelty", "total"),
    [
        ("normal", 0.25, "novel", 1),
        ("experience", 0.25, "unknown", 1 + 0.4 * 0.75),
        ("experience", 1.0, "unknown", 1),
        ("experience", 0.0, "unknown", 1.4),
        ("experience", None, "unknown", 1),
        ("guideline", 0.25, "novel", 1.3),
        ("guideline", 0.25, "listed", -0.2),
        ("guideline", 0.25, "unused", -0.2),
        ("guideline", 0.25, "unreadable", -0.2),
        ("guideline", 0.25, "unknown", 1),
    ],
)
def test_a_right_answer_earns_by_its_mode(
    mode: Mode, p0: float | None, novelty: Novelty, total: float
) -> None:
    earned = reward(Completion(mode, SOLVED), True, SETTINGS, p0=p0, novelty=novelty)
    assert earned.total == pytest.approx(total)
    assert earned.correctness == 1


@pytest.mark.parametrize("mode", ["normal", "experience", "guideline"])
@pytest.mark.parametrize("novelty", ["novel", "listed", "unused", "unreadable", "unknown"])
def test_a_wrong_answer_earns_minus_one_and_nothing_else(mode: Mode, novelty: Novelty) -> None:
    earned = reward(Completion(mode, SOLVED), False, SETTINGS, p0=0.0, novelty=novelty)
    assert earned == Reward(False, -1.0)


@pytest.mark.parametrize("mode", ["normal", "experience", "guideline"])
def test_vanilla_is_correctness_alone(mode: Mode) -> None:
    vanilla = RewardSettings.vanilla()
    for novelty in ("novel", "listed", "unused"):
        earned = reward(Completion(mode, SOLVED), True, vanilla, p0=0.0, novelty=novelty)
        assert (earned.total, earned.shaping) == (1, 0)


@pytest.mark.parametrize("text", ["", "  \n", "<think>110, surely", "<think>110</think>  "])
def test_an_empty_answer_is_wrong_whatever_the_grader_says(text: str) -> None:
    assert not is_correct(Completion("normal", text), "110", lambda _text, _gold: True)


def test_an_answer_that_was_cut_off_is_wrong() -> None:
    assert is_correct(Completion("normal", SOLVED), "110", right)
    assert not is_correct(Completion("normal", SOLVED, truncated=True), "110", right)


def test_a_list_of_guesses_is_wrong_though_its_last_is_right() -> None:
    guesses = r"It may be \boxed{100}. Or rather, counting anew, \boxed{110}"
    assert right(guesses, "110")
    assert not is_correct(Completion("normal", guesses), "110", right)


@pytest.mark.parametrize("mode", ["experience", "guideline"])
def test_echoing_the_bank_earns_no_bonus(mode: Mode) -> None:
    echo = Completion(mode, BANK[0] + r" \boxed{110}", bank=BANK)
    earned = reward(echo, True, SETTINGS, p0=0.0, novelty="novel")
    assert earned.total == pytest.approx(1 if mode == "experience" else -0.2)
    assert not is_correct(Completion(mode, BANK[0], bank=BANK), "110", right)


def test_using_the_bank_in_own_words_keeps_the_bonus() -> None:
    own = r"Pair 1 with 20, 2 with 19 and so on: ten pairs that have the same sum, 21. \boxed{210}"
    assert reward(Completion("experience", own, bank=BANK), True, SETTINGS, p0=0.0).total == 1.4


def test_naming_a_strategy_without_using_it_earns_no_more_than_a_listed_one() -> None:
    named = reward(Completion("guideline", SOLVED), True, SETTINGS, novelty="unused")
    listed = reward(Completion("guideline", SOLVED), True, SETTINGS, novelty="listed")
    assert named == listed


@pytest.mark.parametrize(
    ("tokens", "penalty"),
    [(0, 0), (16384, 0), (18432, -0.5), (20480, -1), (99999, -1)],
)
def test_the_overlong_penalty_grows_over_the_buffer(tokens: int, penalty: float) -> None:
    assert overlong(tokens, 20480, 4096) == penalty
    settings = RewardSettings(max_tokens=20480, overlong_buffer=4096)
    for correct in (True, False):
        earned = reward(Completion("normal", SOLVED, tokens), correct, settings)
        assert earned.overlong == penalty
        assert earned.total == (1 if correct else -1) + penalty


def test_without_a_buffer_the_penalty_is_all_or_nothing() -> None:
    assert [overlong(tokens, 10, 0) for tokens in (10, 11)] == [0, -1]
    assert overlong(10**9, 0, 0) == 0


def test_p0_of_a_paired_group_is_that_of_the_half_without_the_bank() -> None:
    modes: list[Mode] = ["experience", "experience", "normal", "normal"]
    assert paired_p0(modes, [True, True, True, False]) == 0.5
    assert paired_p0(modes[:2], [True, True]) is None
