from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.answers.equivalence import equal
from tmas_graph.answers.select import Vote, chosen, grouped, select
from tmas_graph.answers.verdict import correct, error, incorrect, unsure


def same_text(first, second):
    return correct("") if first == second else incorrect("")


def votes(*rows):
    return [Vote(answer, weight, iteration, index) for answer, weight, iteration, index in rows]


def test_a_half_and_its_decimal_are_one_class():
    chosen = select(votes(("1/2", 0.5, 0, 0), ("3", 0.8, 0, 1), ("0.5", 0.5, 0, 2)), equal)
    assert chosen.answer == "1/2"
    assert chosen.classes[0].votes == 2
    assert chosen.confidence == pytest.approx(1.0 / 1.8)


def test_a_power_lets_high_scores_decide_and_makes_no_choice_look_surer():
    pool = votes(*(("wrong", 0.5, t, 0) for t in range(4)), ("right", 1.0, 4, 0))
    plain, raised = (
        select([replace(vote, power=power) for vote in pool], same_text) for power in (1.0, 4.0)
    )
    assert (plain.answer, plain.confidence) == ("wrong", pytest.approx(2 / 3))
    assert (raised.answer, raised.confidence) == ("right", pytest.approx(1 / 3))


def test_low_scores_to_a_high_power_are_still_told_apart():
    pool = votes(("a", 0.2, 0, 0), ("b", 0.1, 1, 0))
    chosen = select([replace(vote, power=16) for vote in pool], same_text)
    assert chosen.answer == "a"


def test_each_way_can_choose_another_answer():
    pool = votes(
        ("a", 0.1, 0, 0), ("a", 0.1, 0, 1), ("a", 0.1, 0, 2),
        ("b", 0.5, 0, 3), ("b", 0.6, 0, 4), ("c", 0.9, 0, 5),
    )  # fmt: skip
    found = {
        how: select(pool, same_text, how=how).answer for how in ("majority", "weighted", "best")
    }
    assert found == {"majority": "a", "weighted": "b", "best": "c"}


def test_one_iteration_can_be_asked_for():
    pool = votes(("a", 1.0, 0, 0), ("a", 1.0, 0, 1), ("b", 0.5, 1, 0))
    assert select(pool, same_text).answer == "a"
    assert select(pool, same_text, iteration=1).answer == "b"


def test_candidates_without_an_answer_are_counted_and_do_not_vote():
    chosen = select(votes((None, 1.0, 0, 0), ("a", 0.1, 0, 1), (None, 1.0, 0, 2)), same_text)
    assert (chosen.answer, chosen.votes, chosen.unanswered) == ("a", 1, 2)
    assert chosen.confidence == 1.0


def test_no_answer_at_all_is_a_selection_of_none():
    chosen = select(votes((None, 1.0, 0, 0)), same_text)
    assert (chosen.answer, chosen.confidence, chosen.classes) == (None, 0.0, ())


def test_ties_go_to_the_later_iteration_then_to_the_higher_best_weight():
    assert select(votes(("a", 1.0, 0, 0), ("b", 1.0, 1, 0)), same_text).answer == "b"
    pool = votes(("a", 0.5, 0, 0), ("a", 0.5, 0, 1), ("b", 0.9, 0, 2), ("b", 0.1, 0, 3))
    assert select(pool, same_text).answer == "b"


def test_weights_of_zero_choose_by_the_ties():
    chosen = select(votes(("a", 0.0, 0, 0), ("b", 0.0, 1, 0)), same_text)
    assert (chosen.answer, chosen.confidence) == ("b", 0.0)


@pytest.mark.parametrize("score", [None, 0.0])
def test_without_any_weight_the_most_votes_win_and_nothing_speaks_for_them(score):
    chosen = select(votes(("a", score, 0, 0), ("a", score, 0, 1), ("b", score, 1, 0)), same_text)
    assert (chosen.answer, chosen.confidence) == ("a", 0.0)


def test_an_unknown_score_weighs_nothing_and_is_no_part_of_the_mean():
    chosen = select(votes(("a", None, 0, 0), ("a", 0.5, 0, 1), ("b", 0.4, 1, 0)), same_text)
    assert (chosen.answer, chosen.lead.score, chosen.lead.weight) == ("a", 0.5, 0.5)


@pytest.mark.parametrize("verdict", [unsure, error])
def test_what_rules_cannot_tell_is_never_joined(verdict):
    assert grouped(["a", "b", "a"], lambda *_: verdict("")) == (0, 1, 0)


def test_known_classes_are_not_compared_again():
    asked = []

    def ask(first, second):
        asked.append((first, second))
        return correct("") if {first, second} == {"c", "z"} else incorrect("")

    known = grouped(["a", "b", None, "b"], same_text)
    assert known == (0, 1, None, 1)
    assert grouped(["a", "b", None, "b", "c", "b", "z"], ask, known) == (0, 1, None, 1, 4, 1, 4)
    assert asked == [("c", "a"), ("c", "b"), ("z", "a"), ("z", "b"), ("z", "c")]


def test_a_later_answer_can_join_classes_that_were_apart():
    def near(first, second):
        return correct("") if "b" in (first, second) else incorrect("")

    known = grouped(["a", "c"], near)
    assert known == (0, 1)
    assert grouped(["a", "c", "b"], near, known) == (0, 0, 0)


def test_the_votes_of_a_prefix_can_be_chosen_from_with_the_classes_of_all():
    pool = votes(("0.5", 1.0, 0, 0), ("3", 0.5, 0, 1), ("1/2", 1.0, 1, 0))
    classes = grouped([vote.answer for vote in pool], equal)
    assert classes == (0, 1, 0)
    assert chosen(pool[:2], classes[:2]).confidence == pytest.approx(2 / 3)
    assert chosen(pool, classes).confidence == pytest.approx(0.8)


def test_a_chain_of_equal_answers_is_one_class():
    near = {("a", "b"), ("b", "c")}

    def equal_by_chain(first, second):
        return correct("") if (min(first, second), max(first, second)) in near else incorrect("")

    assert grouped(["a", "c", "b", "a"], equal_by_chain) == (0, 0, 0, 0)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.integers(0, 2))), st.randoms()
)
def test_the_order_of_the_votes_does_not_matter(rows, random):
    pool = [Vote(a, w / 4, i, n) for n, (a, w, i) in enumerate(rows)]
    shuffled = list(pool)
    random.shuffle(shuffled)
    assert select(pool, same_text) == select(shuffled, same_text)
