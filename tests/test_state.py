import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.channels import latest
from tmas_graph.errors import ProblemError
from tmas_graph.state import (
    Problem,
    Rollout,
    Verification,
    as_problem,
    digest,
    mean_score,
)
from tmas_graph.usage import Usage

outcomes = st.sampled_from(["open", "finished", "truncated", "failed", "halted"])
rollouts = st.lists(
    st.builds(Rollout, st.integers(0, 3), st.integers(0, 3), st.just("exploit"), outcome=outcomes),
    max_size=8,
    unique_by=lambda r: (r.iteration, r.index),
)


def rollout(iteration: int, index: int, outcome: str = "finished") -> Rollout:
    return Rollout(iteration, index, "exploit", outcome=outcome)  # type: ignore[arg-type]


@given(rollouts, rollouts)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_merging_again_changes_nothing(old: list[Rollout], new: list[Rollout]) -> None:
    once = latest(old, new)
    assert latest(once, new) == once
    assert latest(once, ()) == once == latest(once, once)


@given(rollouts, st.randoms(use_true_random=False))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_the_order_in_which_candidates_finish_does_not_matter(
    all_of_them: list[Rollout], random: object
) -> None:
    shuffled = list(all_of_them)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    state: tuple[Rollout, ...] = ()
    for one in shuffled:
        state = latest(state, [one])
    assert state == latest((), all_of_them)
    keys = [(r.iteration, r.index) for r in state]
    assert keys == sorted(set(keys))


def test_a_later_rollout_of_a_candidate_replaces_the_earlier_one() -> None:
    assert latest([rollout(1, 0, "open")], [rollout(1, 0)]) == (rollout(1, 0),)


def test_older_rollouts_stay_until_the_iteration_is_closed() -> None:
    before = (rollout(0, 0), rollout(0, 1))
    both = latest(before, [rollout(1, 0), rollout(1, 1, "halted")])
    assert both == (*before, rollout(1, 0), rollout(1, 1, "halted"))
    closed = latest(both, 1)
    assert closed == (rollout(1, 0), rollout(1, 1, "halted"))
    assert latest(closed, 1) == closed


def test_a_candidate_is_charged_by_role() -> None:
    begun = Rollout(0, 0, "initial")
    charged = begun.charged("solution", Usage(1, 2, 3)).charged("summary", Usage(4))
    again = charged.charged("solution", Usage(1))
    assert again.usage == {"solution": Usage(2, 2, 3), "summary": Usage(4)}
    assert again.spent == Usage(6, 2, 3)
    assert (begun.usage, begun.spent) == ({}, Usage())


@pytest.mark.parametrize(
    ("scores", "mean"),
    [
        ([], None),
        ([None, None], None),
        ([0.0], 0.0),
        ([1.0, 0.5, 0.0], 0.5),
        ([1.0, None], 1.0),
        ([1.0, None, None], None),
        ([0.0, None], 0.0),
        ([1.0, *[None] * 63], None),  # published-code defect 6
    ],
)
def test_the_mean_is_unknown_if_too_few_scores_are_read(
    scores: list[float | None], mean: float | None
) -> None:
    verifications = tuple(Verification("", score) for score in scores)
    assert mean_score(verifications) == mean
    assert Rollout(0, 0, "initial", verifications=verifications).score == mean


def test_the_least_share_of_scores_can_be_set() -> None:
    verifications = [Verification("", score) for score in (1.0, None, None)]
    assert mean_score(verifications, at_least=0.3) == 1.0


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, None])))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_mean_lies_between_the_scores(scores: list[float | None]) -> None:
    mean = mean_score([Verification("", score) for score in scores])
    known = [score for score in scores if score is not None]
    assert mean is None or min(known) <= mean <= max(known)


def test_usage_adds_field_by_field() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
    assert Usage(1, 2, 3, 4).tokens == 5


@pytest.mark.parametrize(
    "given_problem",
    ["Q", Problem("Q"), {"question": "Q"}, {"question": "Q", "id": "", "kind": None}],
)
def test_a_problem_is_taken_in_every_form(given_problem: object) -> None:
    assert as_problem(given_problem) == Problem("Q")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", 'problem: "question" is empty. Give the text of the problem.'),
        (" \n", '"question" is empty'),
        ({"question": None}, '"question" is empty'),
        ({"question": 3}, '"question" is empty'),
        ({}, 'problem: no "question". The fields are question, id and kind.'),
        ({"question": "Q", "gold": "3"}, "problem: unknown field 'gold'"),
        ({"question": "Q", "kind": "essay"}, 'kind is \'essay\'. Use "answer" or "proof".'),
        (None, "problem: a NoneType was given"),
        (["Q"], "problem: a list was given"),
    ],
)
def test_what_is_no_problem_is_said(value: object, said: str) -> None:
    with pytest.raises(ProblemError) as caught:
        as_problem(value)
    assert said in str(caught.value)


def test_a_problem_without_a_name_is_named_by_its_text_and_kind() -> None:
    names = [Problem(q, kind=k).id for q in ("Q", "R") for k in ("answer", "proof")]  # type: ignore[arg-type]
    assert len(set(names)) == 4
    assert Problem("Q").id == "q-a2286e23da94"  # in every process: published-code defect 7
    assert Problem("Q", id="mine").id == "mine"


def test_digests_keep_their_parts_apart() -> None:
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", "")]
    assert all(digest(*a) != digest(*b) for a, b in itertools.combinations(parts, 2))
    assert digest("\ud800") != digest("?")
