from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.guideline_bank import listed, merged
from tmas_graph.prompts import estimate_tokens
from tmas_graph.state import Strategy

INDUCTION = Strategy("Induction on n", "assume n, show n + 1", (0,))
DESCENT = Strategy("Infinite descent", "take the least one", (0,))
strategies = st.lists(
    st.builds(
        Strategy,
        st.sampled_from(["Induction", "induction", "Descent", "Counting twice"]),
        st.text(max_size=20),
        st.integers(0, 3).map(lambda t: (t,)),
    ),
    max_size=6,
)


def test_a_strategy_that_is_listed_gains_iterations_only() -> None:
    again = Strategy("induction on n.", "in other words", (2,))
    bank = merged((INDUCTION,), [again, DESCENT])
    assert bank == (Strategy(INDUCTION.name, INDUCTION.essence, (0, 2)), DESCENT)


def test_strategies_that_differ_in_a_number_or_a_negation_are_two() -> None:
    bank = merged((), [Strategy("Modulo 3", "x"), Strategy("Modulo 4", "x")])
    assert len(bank) == 2


@given(strategies, strategies)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_repeat_changes_nothing_and_nothing_is_lost(
    known: list[Strategy], new: list[Strategy]
) -> None:
    bank = merged((), known)
    both = merged(bank, new)
    assert merged(both, new) == both
    assert [s.name for s in both[: len(bank)]] == [s.name for s in bank]
    assert {t for s in (*known, *new) for t in s.iterations} == {
        t for s in both for t in s.iterations
    }


def test_over_the_budget_the_oldest_are_listed_by_name_alone() -> None:
    bank = (INDUCTION, DESCENT, Strategy("Counting twice", "count pairs"))
    names = sum(estimate_tokens(s.name) for s in bank)
    assert listed(bank, 10_000) == bank
    last = estimate_tokens(bank[2].essence)
    assert [bool(s.essence) for s in listed(bank, names + last)] == [False, False, True]
    assert [s.name for s in listed(bank, 0)] == [s.name for s in bank]
    assert not any(s.essence for s in listed(bank, 0))
