"""The synthetic reasoner reads the small prompts, which have examples in place of headings."""

import pytest

from benchmarks.reasoner import small_set
from benchmarks.reasoner.direct import Reasoner
from benchmarks.reasoner.reading import Read
from benchmarks.reasoner.runs import solved
from benchmarks.reasoner.world import question
from tmas_graph.memory.guideline_bank import Listed, Named
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.retrieval import Noted
from tmas_graph.prompts import Prompts
from tmas_graph.settings import Settings
from tmas_graph.state import Rollout, Strategy

pytestmark = pytest.mark.anyio
CODE, TEXT = question(3)
SOLUTION = "Approach: inversion. Hence $c_{3} = 8$.\n\nSo it is \\boxed{7}."
ROLLOUT = Rollout(0, 0, "initial", solution=SOLUTION, outcome="finished")
ITEMS = tuple(
    Noted(item, Entry(item.id, 0, contradicted=refuted), number)
    for number, (item, refuted) in enumerate(
        [
            (Item("conclusion", "$c_{1} = 3$"), ()),
            (Item("pitfall", "$c_{4} = 5$ is wrong"), ()),
            (Item("conclusion", "we have $c_{2} = 4$"), (1,)),
        ],
        1,
    )
)
LISTED = Listed(
    (Named(Strategy("inversion", "its idea, told"), 1), Named(Strategy("a monovariant"), 2)),
    (Named(Strategy("Hall matchings"), 3),),
)


def read(name: str, **values: object) -> Read:
    messages = Prompts(set="small").render(name, problem=TEXT, kind="answer", **values)
    text = "\n\n".join(message["content"] for message in messages)
    assert small_set.is_small(text)
    return small_set.read(text)


def test_prompts_of_the_standard_set_are_not_taken_for_small_ones() -> None:
    [_, user] = Prompts().render("solution_initial", problem=TEXT, kind="answer")
    assert not small_set.is_small(user["content"])


def test_who_exploits_is_told_the_best_attempt_and_what_is_noted() -> None:
    told = read("solution_exploit", rollouts=[ROLLOUT], experience=ITEMS, borrowed=[])
    assert (told.code, told.task) == (CODE, "improve on the earlier attempts")
    assert [(item.claim, item.denied) for item in told.items] == [
        (("c_{1}", 3), False),
        (("c_{4}", 5), True),
        (("c_{2}", 4), True),
    ]
    assert [(one.strategy, one.claims) for one in told.attempts] == [("inversion", (("c_{3}", 8),))]


def test_who_explores_is_told_all_names() -> None:
    assert [*read("solution_explore", strategies=LISTED).listed] == [
        "inversion", "a monovariant", "Hall matchings",
    ]  # fmt: skip


@pytest.mark.parametrize("examples", ["solution_explore", "solution_initial"])
def test_nothing_of_the_examples_is_read(examples: str) -> None:
    assert read(examples, strategies=Listed()) == Read(CODE, "solve the problem")


def test_checks_and_solution_are_told_apart() -> None:
    check = read("verification", solution=SOLUTION)
    assert check.task == "check the proposed solution"
    assert "c_{3} = 8" in check.solution
    assert not check.checks


async def test_every_agent_is_recognised_and_what_it_writes_is_read_back() -> None:
    reasoner = Reasoner()
    settings = Settings.preset(
        "paper",
        base_url="http://reasoner",
        prompt_set="small",
        candidates=4,
        verifications=2,
        iterations=3,
        epsilon=0.5,
        mode_draws="stratified",
    )
    made = await solved(3, "tmas", settings, reasoner)
    assert all(ballot.score is not None and ballot.answer for ballot in made.ballots)
    assert reasoner.asked.keys() == {
        "check the proposed solution",
        "summarise the checks",
        "solve the problem",
        "note what the next attempts can reuse",
        "list the strategies that were tried",
        "improve on the earlier attempts",
        "solve the problem in a new way",
    }


def test_steps_of_attempts_with_a_high_score_count_as_confirmed() -> None:
    noted = read("experience", rollouts=[_Scored(1.0), _Scored(0.5)], experience=ITEMS, items=4)
    assert [item.id for item in noted.items] == ["E1", "E2", "E3"]
    assert [one.found.confirmed for one in noted.attempts] == [(("c_{3}", 8),), ()]
    named = read("guideline", rollouts=[_Scored(None)], strategies=LISTED)
    assert named.listed == {"inversion": "G1", "a monovariant": "G2", "Hall matchings": "G3"}


class _Scored:
    """An attempt as templates see one."""

    solution = SOLUTION

    def __init__(self, score: float | None) -> None:
        self.score = score
