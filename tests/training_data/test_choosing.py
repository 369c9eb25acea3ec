"""Which samples are kept, and in which part."""

from collections import Counter
from typing import Any

import pytest

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.rows import Source
from tmas_graph.state import Problem
from tmas_graph.training_data.choosing import (
    CAPPED,
    EASY,
    HARD,
    LIMITED,
    OUTSIDE,
    TWICE,
    Choice,
    chosen,
    fault_of,
    is_held_out,
    parted,
)
from tmas_graph.training_data.pass_rates import PassRate
from tmas_graph.training_data.references import Reference
from tmas_graph.training_data.samples import Origin, Sample


def sample(question: str, source: Source = "normal", text: str = "") -> Sample:
    prompt = ({"role": "user", "content": f"{question} {source} {text}"},)
    return Sample(source, prompt, Problem(question), prompt, Origin("run", "tmas", "m"))


def kept(samples: list[Sample], **choice: Any) -> tuple[list[Sample], dict[str, int]]:
    left_out = Counter[str]()
    return chosen(samples, Choice(**choice), left_out), {w: n for w, n in left_out.items() if n}


GOOD = Reference("42")


@pytest.mark.parametrize(
    ("rate", "choice", "fault"),
    [
        (PassRate(1, 4), Choice(), ""),
        (PassRate(0, 4), Choice(), HARD),
        (PassRate(4, 4), Choice(), EASY),
        (PassRate(0, 4), Choice((0, 1)), ""),
        (PassRate(4, 4), Choice((0, 1)), ""),
        (PassRate(1, 4), Choice((0.25, 0.5)), ""),
        (PassRate(2, 4), Choice((0.25, 0.5)), ""),
        (PassRate(3, 4), Choice((0.25, 0.5)), OUTSIDE),
        (PassRate(1, 3), Choice(), "fewer than 4 rollouts without a bank"),
        (PassRate(1, 3), Choice(min_rollouts=3), ""),
        (None, Choice((0, 1), 1), "fewer than 1 rollouts without a bank"),
    ],
    ids=str,
)
def test_a_problem_is_trained_on_by_its_pass_rate(
    rate: PassRate | None, choice: Choice, fault: str
) -> None:
    assert fault_of(GOOD, rate, choice) == fault
    assert fault_of(Reference(fault="no answer"), rate, choice) == "no answer"


@pytest.mark.parametrize("difficulty", [(0.5, 0.4), (-0.1, 1), (0, 1.1), (float("nan"), 1)])
def test_a_difficulty_that_is_no_range_is_refused(difficulty: tuple[float, float]) -> None:
    with pytest.raises(SettingsError, match=r"--difficulty: .* is no range of p0"):
        Choice(difficulty).check()


@pytest.mark.parametrize("share", [1, -0.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(SettingsError, match=r"--held-out: .* is no share"):
        Choice(held_out=share).check()


def test_the_same_prompt_is_kept_once() -> None:
    found, left_out = kept([sample("a"), sample("b"), sample("a")])
    assert {s.problem.question for s in found} == {"a", "b"}
    assert left_out == {TWICE: 1}


def test_the_order_of_what_is_given_does_not_matter() -> None:
    given = [sample(str(i)) for i in range(20)]
    assert kept(given)[0] == kept(given[::-1])[0]
    assert kept(given)[0] != given


def test_a_cap_takes_of_each_source_in_turn() -> None:
    given = [sample("a", source, str(i)) for source in ("normal", "experience") for i in range(5)]
    given += [sample("a", "guideline"), sample("b")]
    found, left_out = kept(given, per_problem=4)
    counts = Counter((s.problem.question, s.source) for s in found)
    assert counts == {
        ("a", "normal"): 2,
        ("a", "experience"): 1,
        ("a", "guideline"): 1,
        ("b", "normal"): 1,
    }
    assert left_out == {CAPPED: 7}


def test_a_limit_keeps_some_of_the_same_that_are_kept_without_it() -> None:
    given = [sample(str(i)) for i in range(9)]
    found, left_out = kept(given, limit=4)
    assert found == kept(given)[0][:4]
    assert left_out == {LIMITED: 5}
    assert kept(given, limit=9)[1] == {}


def test_a_problem_is_in_one_part_and_stays_there() -> None:
    given = [sample(str(i), source) for i in range(200) for source in ("normal", "experience")]
    parts = parted(given, 0.2)
    train, held = ({s.problem.question for s in parts[n]} for n in ("train", "held_out"))
    assert train | held == {str(i) for i in range(200)}
    assert not train & held
    assert 20 <= len(held) <= 60
    assert held == {str(i) for i in range(200) if is_held_out(str(i), 0.2)}
    assert held <= {s.problem.question for s in parted(given, 0.3)["held_out"]}
    assert parted(given, 0)["held_out"] == []


def test_the_split_is_the_same_on_every_machine() -> None:
    assert [i for i in range(30) if is_held_out(str(i), 0.1)] == [20]
