from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.guideline_bank import Listed, Named, Report, applied, listed, same, shorter
from tmas_graph.prompts import estimate_tokens
from tmas_graph.state import Strategy

INDUCTION = Strategy("Induction on n", "assume n, show n + 1", ((0, 2),), 0.5, "no base case")
DESCENT = Strategy("Infinite descent", "take the least one", ((0, 1),), 0.25, "not smaller")
KNOWN = (INDUCTION, DESCENT)
SCORES = {1: 1.0, 2: 0.75, 3: None, 4: 0.0}
NAMES = ["Induction", "the induction", "Use induction", "Strong induction", "Descent", "Counting"]
reports = st.lists(
    st.builds(
        Report,
        st.sampled_from(NAMES),
        st.sampled_from(["", "n is even", "n is odd", "take 3", "take 4", "in other words"]),
        st.frozensets(st.integers(1, 4)),
        st.sampled_from(["", "fails", "holds"]),
        st.sampled_from([None, None, 1, 2]),
    ),
    max_size=6,
)


def report(listed: int, *attempts: int, outcome: str = "") -> Report:
    return Report(attempts=frozenset(attempts), outcome=outcome, listed=listed)


def test_a_listed_strategy_gains_tries_the_better_score_and_the_last_outcome() -> None:
    [one, other] = applied(KNOWN, [report(1, 1, 4, outcome="base case found")], 2, SCORES)
    assert one == Strategy(
        INDUCTION.name, INDUCTION.essence, ((0, 2), (2, 2)), 1.0, "base case found"
    )
    assert (one.tries, one.iterations) == (4, (0, 2))
    assert other == DESCENT


def test_without_dedup_only_equal_words_and_the_agents_own_word_unite() -> None:
    said = [Report("The induction on n", INDUCTION.essence), Report(DESCENT.name, DESCENT.essence)]
    assert len(applied(KNOWN, said, 1, SCORES)) == 2
    bank = applied(KNOWN, [*said, report(1, 1)], 1, SCORES, dedup=False)
    assert [one.name for one in bank] == [INDUCTION.name, DESCENT.name, "The induction on n"]
    assert [one.tries for one in bank] == [3, 2, 1]


def test_what_is_not_said_stays() -> None:
    [one, _] = applied(KNOWN, [report(1, 4)], 1, SCORES)
    assert (one.best_score, one.outcome) == (0.5, "no base case")


def test_an_iteration_that_names_no_attempt_counts_one_and_its_score_is_unknown() -> None:
    [new] = applied((), [Report("Counting twice", "count pairs")], 3, SCORES)
    assert (new.tried, new.best_score) == (((3, 0),), None)
    assert (new.tries, new.named) == (1, 0)
    [again] = applied((new,), [report(1, 3)], 4, SCORES)
    assert (again.tries, again.named, again.best_score) == (2, 1, None)


def test_an_attempt_counts_once_on_however_many_lines_it_stands() -> None:
    said = [
        Report("induction on n.", "in other words", frozenset({1, 2}), "first"),
        Report("Use induction on n", "", frozenset({2, 3}), "last"),
        report(1, 3),
    ]
    [one, _] = applied(KNOWN, said, 1, SCORES)
    assert one.tried == ((0, 2), (1, 3))
    assert (one.name, one.essence, one.outcome) == (INDUCTION.name, INDUCTION.essence, "last")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Induction on n", "assume n"), ("Mathematical induction on n", "the step follows")),
        (("Infinite descent", "take the least"), ("The method of infinite descent", "")),
        (("Double counting", "count the pairs"), ("Counting twice", "sum over both sides")),
        (("Invariant", "the parity stays"), ("Use an invariant", "a sum that no move changes")),
    ],
)
def test_a_strategy_in_other_words_is_one(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert same(Strategy(*one), Strategy(*other))
    assert same(Strategy(*other), Strategy(*one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Induction on n", ""), ("Strong induction on n", "")),
        (("Induction on n", ""), ("Induction on m", "")),
        (("Induction on vertices", "x"), ("Induction on edges", "x")),
        (("Modulo 3", "x"), ("Modulo 4", "x")),
        (("Case analysis", "n even"), ("Case analysis", "n odd")),
        (("Case analysis", "assume that n is even"), ("Case analysis", "assume that n is odd")),
        (("Modular arithmetic", "modulo 7"), ("Modular arithmetic", "use the residues modulo 9")),
        (("Substitution", "set $x = a + b$"), ("Substitution", "replace $y$ by $2t$")),
        (("Induction", "from n to n + 1"), ("Induction", "from n + 1 to n")),
        (("Density argument", "it is dense"), ("Density argument", "it is not dense")),
        (("Greedy choice", "take the largest one"), ("Greedy choice", "take the smallest one")),
    ],
)  # fmt: skip
def test_in_doubt_strategies_are_two(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert not same(Strategy(*one), Strategy(*other))
    assert not same(Strategy(*other), Strategy(*one))


@given(reports, reports)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_a_repeat_changes_nothing_and_nothing_is_lost(
    first: list[Report], then: list[Report]
) -> None:
    before = applied(KNOWN, first, 1, SCORES)
    bank = applied(before, then, 2, SCORES)
    assert applied(before, first, 1, SCORES) == before
    assert applied(bank, then, 2, SCORES) == bank
    assert [(s.name, s.essence) for s in bank[: len(before)]] == [
        (s.name, s.essence) for s in before
    ]
    for said in (*first, *then):
        told = Strategy(said.name, said.essence)
        assert said.listed or any(same(told, s) for s in bank)
    assert all(s.tries >= len(s.iterations) > 0 for s in bank)
    assert {t for s in bank for t in s.iterations} <= {0, 1, 2}


def test_in_full_while_they_fit() -> None:
    shown = listed(KNOWN, 10_000)
    assert shown == Listed((Named(INDUCTION, 1), Named(DESCENT, 2)))
    assert [one.id for one in shown.full] == ["G1", "G2"]
    assert listed((), 0) == Listed()


def test_the_least_informative_gives_up_its_essence_and_then_its_line_first() -> None:
    late = Strategy("Late", "an essence", ((1, 1), (3, 1)), 0.0, "an outcome")
    early = Strategy("Early", "an essence", ((0, 9),), 1.0, "an outcome")
    good = Strategy("Good", "an essence", ((2, 1),), 0.5, "an outcome")
    often = Strategy("Often", "an essence", ((1, 1), (2, 4)), 0.25, "an outcome")
    unknown = Strategy("Unknown", "an essence", ((2, 5),), None, "an outcome")
    twin = Strategy("Twin", "an essence", ((2, 5),), None, "an outcome")
    whole = listed((late, early, good, often, unknown, twin), 10_000)
    steps = list(shorter(whole))
    assert [step.kind for step in steps] == 6 * ["essences"] + 6 * ["strategy lines"]
    bare = [next(n for n in s.listed.full if not n.essence).name for s in steps[:1]]
    assert bare == ["Early"]
    gone = [{n.name for n in step.listed.full} for step in steps[5:]]
    order = [(a - b).pop() for a, b in pairwise(gone)]
    assert order == ["Early", "Unknown", "Twin", "Often", "Good", "Late"]
    assert [n.number for n in steps[-1].listed.folded] == [1, 2, 3, 4, 5, 6]


@given(
    st.lists(
        st.builds(
            Strategy,
            st.text(min_size=1, max_size=20),
            st.text(max_size=60),
            st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=2).map(tuple),
            st.none() | st.floats(0, 1),
            st.text(max_size=30),
        ),
        max_size=8,
    ),
    st.integers(0, 400),
)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_every_name_is_shown_whatever_the_budget(known: list[Strategy], tokens: int) -> None:
    shown = listed(known, tokens)
    both = sorted((*shown.full, *shown.folded), key=lambda one: one.number)
    assert [one.strategy.name for one in both] == [s.name for s in known]
    assert [one.number for one in both] == list(range(1, len(known) + 1))
    assert listed(known, tokens) == shown
    bare = [one for one in shown.full if not one.essence]
    assert not shown.folded or len(bare) == len(shown.full)
    said = sum(estimate_tokens(one.essence + one.outcome) for one in shown.full if one.essence)
    assert not any(one.essence for one in shown.full) or said <= tokens


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x0b", "\x85", "\u2028"])
def test_a_strategy_is_one_line_wherever_it_comes_from(end: str) -> None:
    [one] = listed((Strategy(f"a{end}# b", f"c{end}- G1", outcome=f"d{end}e"),), 9999).full
    assert (one.name, one.essence, one.outcome) == ("a # b", "c - G1", "d e")
