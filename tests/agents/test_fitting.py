from dataclasses import replace

import pytest

from tmas_graph.agents.fitting import Shown, prompt, without
from tmas_graph.memory.borrowing import Borrowed
from tmas_graph.memory.guideline_bank import listed
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.retrieval import Noted
from tmas_graph.prompts import Prompt, Prompts, estimate_tokens
from tmas_graph.state import Problem, Rollout, Strategy, Verification

PROBLEM = Problem("What is 6·7?")
ROLLOUTS = tuple(
    Rollout(
        1,
        index,
        "exploit",
        solution=f"solution-{index} " * 50,
        verifications=(Verification("", score),),
        summary=f"summary-{index}",
        outcome="finished",
    )
    for index, score in enumerate([1.0, 0.5, 0.0])
)
CHECKS = tuple(Verification(f"analysis-{i} " * 50, score) for i, score in enumerate([1.0, 0.0]))
ITEMS = tuple(
    Noted(Item("technique", f"item-{i} " * 20), Entry(str(i), 0), i + 1) for i in range(3)
)
STRATEGIES = listed(
    [Strategy(f"Name {i}", f"essence-{i} " * 20, ((i, 1),), None, f"end-{i}") for i in range(3)],
    10**6,
)
EXPLOIT = Shown(rollouts=ROLLOUTS, experience=ITEMS)


def exploit(shown: Shown = EXPLOIT) -> Prompt:
    return prompt(Prompts(), "solution_exploit", PROBLEM, shown)


def text(of: Prompt) -> str:
    return "\n".join(message["content"] for message in of.messages)


def steps(whole: Prompt) -> list[Prompt]:
    """The prompt with one thing less each time, until nothing more can go."""
    found: list[Prompt] = []
    current: Prompt | None = whole
    while (current := current.smaller(1)) is not None:
        found.append(current)
    return found


def test_a_prompt_shows_all_it_is_given() -> None:
    whole = exploit()
    assert whole.cut == {}
    for word in ("solution-0", "solution-2", "summary-2", "item-2", PROBLEM.question):
        assert word in text(whole)


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("solution_exploit", EXPLOIT),
        (
            "solution_exploit",
            replace(EXPLOIT, borrowed=(Borrowed("technique", "lent", "", "open", "", "p"),)),
        ),
        ("solution_explore", Shown(strategies=STRATEGIES)),
    ],
    ids=["exploit", "borrowed", "explore"],
)
def test_what_was_cut_tells_what_was_shown(template: str, shown: Shown) -> None:
    whole = prompt(Prompts(), template, PROBLEM, shown)
    ways = [steps(whole), [less for n in range(50, 1500, 50) if (less := whole.smaller(n))]]
    for less in (*ways[0], *ways[1]):
        again = prompt(Prompts(), template, PROBLEM, without(shown, less.cut))
        assert again.messages == less.messages
    assert without(shown, {}) == shown


def test_what_other_problems_have_learnt_goes_before_all_else() -> None:
    lent = tuple(Borrowed("technique", f"lent-{i} " * 9, "", "open", "", "p") for i in range(2))
    first, second, third, *_ = steps(exploit(replace(EXPLOIT, borrowed=lent)))
    assert dict(first.cut) == {"borrowed": 1}
    assert ("lent-0" in text(first), "lent-1" in text(first)) == (True, False)
    assert dict(second.cut) == {"borrowed": 2}
    assert "other problems" not in text(second)
    assert dict(third.cut) == {"borrowed": 2, "solutions": 1}


def test_solutions_go_first_the_worst_before_others_then_experience() -> None:
    assert [dict(step.cut) for step in steps(exploit())] == [
        {"solutions": 1},
        {"solutions": 2},
        {"solutions": 3},
        {"solutions": 3, "experience": 1},
        {"solutions": 3, "experience": 2},
        {"solutions": 3, "experience": 3},
    ]
    first, second, *_ = steps(exploit())
    assert ("solution-2" in text(first), "solution-1" in text(first)) == (False, True)
    assert ("solution-1" in text(second), "solution-0" in text(second)) == (False, True)
    fifth = text(steps(exploit())[4])
    assert ("item-0" in fifth, "item-1" in fifth, "item-2" in fifth) == (True, False, False)


def test_problem_summaries_and_scores_stay() -> None:
    last = text(steps(exploit())[-1])
    for word in (PROBLEM.question, "summary-0", "summary-2", "0.50"):
        assert word in last


def test_what_single_checks_say_goes_before_the_solution_that_they_are_about() -> None:
    whole = prompt(
        Prompts(), "summary", PROBLEM, Shown(verifications=CHECKS), solution="the text", words=9
    )
    cuts = steps(whole)
    assert [dict(step.cut) for step in cuts] == [{"verifications": 1}, {"verifications": 2}]
    assert "analysis-0" in text(cuts[0])
    assert "analysis-1" not in text(cuts[0])
    assert "the text" in text(cuts[1])
    assert "(score 0.00)" in text(cuts[1])


def test_strategies_keep_their_names() -> None:
    shown = Shown(strategies=STRATEGIES)
    cuts = steps(prompt(Prompts(), "solution_explore", PROBLEM, shown))
    assert [dict(step.cut) for step in cuts[:3]] == [{"essences": i} for i in (1, 2, 3)]
    assert dict(cuts[-1].cut) == {"essences": 3, "strategy lines": 3}
    assert ("essence-0" in text(cuts[0]), "end-0" in text(cuts[0])) == (False, False)
    assert ("essence-1" in text(cuts[0]), "end-1" in text(cuts[0])) == (True, True)
    for step in cuts:
        assert all(strategy.name in text(step) for strategy in STRATEGIES.full)
    assert "essence" not in text(cuts[2])
    assert "- also tried: Name 0; Name 1; Name 2\n" in text(cuts[-1])


def test_the_guideline_gives_up_solutions_before_essences_and_lines() -> None:
    shown = Shown(rollouts=ROLLOUTS, strategies=STRATEGIES)
    cuts = [step.cut for step in steps(prompt(Prompts(), "guideline", PROBLEM, shown))]
    kinds = ["solutions", "essences", "strategy lines"]
    assert [list(cut) for cut in cuts[:7]] == [kinds[: i // 3 + 1] for i in range(7)]
    assert cuts[-1] == dict.fromkeys(kinds, 3)
    last = text(steps(prompt(Prompts(), "guideline", PROBLEM, shown))[-1])
    assert "- also tried: G1 Name 0; G2 Name 1; G3 Name 2\n" in last


@pytest.mark.parametrize("name", ["solution_explore", "guideline"])
def test_the_small_set_keeps_all_names_too(name: str) -> None:
    shown = Shown(strategies=STRATEGIES)
    for step in steps(prompt(Prompts(set="small"), name, PROBLEM, shown)):
        assert all(strategy.name in text(step) for strategy in STRATEGIES.full)


@pytest.mark.parametrize("set_", ["standard", "small"])
@pytest.mark.parametrize("tokens", [1, 50, 150, 151, 400, 10**6])
def test_about_as_much_goes_as_is_asked_for(tokens: int, set_: str) -> None:
    whole = prompt(Prompts(set=set_), "solution_exploit", PROBLEM, EXPLOIT)  # type: ignore[arg-type]
    smaller = whole.smaller(tokens)
    assert smaller is not None
    spared = estimate_tokens(text(whole)) - estimate_tokens(text(smaller))
    largest = max(estimate_tokens(r.solution) for r in ROLLOUTS)
    most = estimate_tokens(text(whole)) - estimate_tokens(text(steps(whole)[-1]))
    assert min(tokens, most) - 4 <= spared <= tokens + largest + 10


def test_what_has_nothing_to_give_up_stays() -> None:
    assert prompt(Prompts(), "solution_initial", PROBLEM).smaller(100) is None
    assert (
        exploit(Shown(rollouts=tuple(replace(r, solution="") for r in ROLLOUTS))).smaller(1) is None
    )


def test_making_a_prompt_smaller_leaves_it_as_it_was() -> None:
    whole = exploit()
    before = text(whole)
    assert whole.smaller(10**6)
    assert (text(whole), whole.cut) == (before, {})
