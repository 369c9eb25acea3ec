"""The synthetic reasoner: it sees prompts alone, errs as often as told, and knows all our roles."""

import random
import re
from collections.abc import Sequence

import pytest

from benchmarks.reasoner.checking import summarise
from benchmarks.reasoner.direct import Reasoner, Spoken
from benchmarks.reasoner.lengths import Lengths
from benchmarks.reasoner.play import CHECKING, NOTING, SOLVING, Player, UnknownPrompt
from benchmarks.reasoner.reading import Read, read
from benchmarks.reasoner.runs import solved
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.solving import Solver
from benchmarks.reasoner.statements import claims, finding, strategy_of
from benchmarks.reasoner.world import Nature, question, world
from tmas_graph.agents import experience, strategy_lines
from tmas_graph.agents.verification import score_of
from tmas_graph.methods import METHODS
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Message, Prompts
from tmas_graph.settings import Settings

pytestmark = pytest.mark.anyio
CODE, TEXT = question(3)
WORLD = world(CODE, Nature())
SMALL = Settings.preset(
    "paper",
    base_url="http://reasoner",
    candidates=3,
    verifications=2,
    iterations=2,
    epsilon=0.5,
    mode_draws="stratified",
)


def prompt(name: str, **values: object) -> str:
    messages = Prompts().render(name, problem=TEXT, kind="answer", **values)
    return "\n\n".join(message["content"] for message in messages)


def one(text: str, seed: int = 0, skill: Skill | None = None) -> str:
    return Player(skill).replies(text, range(seed, seed + 1))[1][0]


def many(text: str, count: int, skill: Skill | None = None) -> list[str]:
    return Player(skill).replies(text, range(count))[1]


def written(strategy: str, **values: int) -> str:
    """A solution by `strategy` with right values, but for those given."""
    found = {v.name: values.get(v.name[0], v.right) for v in WORLD.needed(strategy)}
    lines = [f"Hence ${name} = {value}$." for name, value in found.items()]
    return "\n\n".join([f"Approach: {strategy}.", *lines, r"The answer is \boxed{7}."])


def right_shares(replies: list[str]) -> float:
    stated = [claim for reply in replies for claim in claims(reply)]
    return sum(value == WORLD.values[name].right for name, value in stated) / len(stated)


def test_a_reply_follows_from_prompt_and_seed() -> None:
    text = prompt("solution_initial")
    assert one(text, 5) == one(text, 5) == many(text, 8)[5]
    assert len(set(many(text, 8))) == 8
    assert one(text, 5) != one(text + " ", 5)


def test_it_reads_nothing_of_a_problem_but_its_code() -> None:
    structure = [str(WORLD.answer), str(WORLD.attractor), *WORLD.strategies]
    assert not [word for word in structure if word in TEXT]
    assert read(TEXT).code == CODE


def test_it_finds_as_many_values_as_its_skill_says() -> None:
    replies = many(prompt("solution_initial"), 400)
    assert right_shares(replies) == pytest.approx(Skill().derives, abs=0.04)


def test_strategies_come_to_mind_by_habit() -> None:
    named = [strategy_of(reply) for reply in many(prompt("solution_initial"), 600)]
    for strategy in WORLD.strategies[:3]:
        share = named.count(strategy) / len(named)
        assert share == pytest.approx(WORLD.habits[strategy], abs=0.05)


def failing(solution: str, skill: Skill) -> float:
    """Share of checks that don't take `solution` for right."""
    checks = many(prompt("verification", solution=solution), 1000, skill)
    return sum(score_of(check) != 1 for check in checks) / len(checks)


@pytest.mark.parametrize("noise", [0.0, 0.25, 0.5, 1.0])
def test_sensitivity_and_specificity_of_a_check_fall_in_a_straight_line(noise: float) -> None:
    skill, whole = Skill().with_noise(noise), Skill()
    strategy, values = min(WORLD.viable), len(WORLD.needed(min(WORLD.viable)))
    tempted = written(strategy).replace(
        f"c_{{1}} = {WORLD.values['c_{1}'].right}", f"c_{{1}} = {WORLD.values['c_{1}'].tempting}"
    )
    silent = (1 - whole.false_alarm) ** values
    alarms = {
        written(strategy): 1 - silent * (1 - whole.false_alarm),
        tempted: 1 - silent * (1 - whole.sees_temptation),
    }
    for solution, chance in alarms.items():
        wanted = (1 - noise) * chance + noise / 2
        assert failing(solution, skill) == pytest.approx(wanted, abs=0.05)


def test_blind_spots_are_those_of_all_checks_and_one_check_is_as_good_as_before() -> None:
    skill, strategy = Skill(blind=0.5, false_alarm=0.0), min(WORLD.viable)
    shares = []
    for value in WORLD.needed(strategy):
        right, tempting = f"${value.name} = {value.right}$", f"${value.name} = {value.tempting}$"
        shares.append(failing(written(strategy).replace(right, tempting), skill))
    assert all(share == 0 or share == pytest.approx(0.9, abs=0.05) for share in shares)
    assert len({share == 0 for share in shares}) == 2


def test_a_check_ends_in_a_score_that_follows_from_what_it_found() -> None:
    viable = min(WORLD.viable)
    blind = Skill(false_alarm=0.0)
    assert score_of(one(prompt("verification", solution=written(viable)), skill=blind)) == 1
    sharp = Skill(false_alarm=0.0, sees_slip=1.0, sees_temptation=1.0)
    spoilt = prompt("verification", solution=written(viable, c=1000))
    assert score_of(one(spoilt, skill=sharp)) == 0


@pytest.mark.parametrize(("checks", "least"), [(1, 1), (2, 1), (3, 2), (6, 2), (8, 2), (16, 4)])
def test_a_summary_believes_an_error_that_two_checks_name_or_half_or_a_quarter(
    checks: int, least: int
) -> None:
    claim = "c_{1} = 5"
    solver = Solver(WORLD, Skill(), random.Random(0))

    def summary(naming: int) -> str:
        said = [f"The step with ${claim}$ fails."] * naming
        said += [f"I redid it, and ${claim}$."] * (checks - naming)
        return summarise(solver, Read(CODE, "", solution=f"Hence ${claim}$.", checks=tuple(said)))

    assert [finding(summary(naming)).doubted for naming in (least - 1, least)] == [
        (),
        (("c_{1}", 5),),
    ]


def test_it_takes_over_what_its_experience_says() -> None:
    item = f"- [conclusion] $c_{{1}} = {WORLD.values['c_{1}'].right}$ (supported by 2)"
    told = prompt("solution_exploit", experience=[], rollouts=[], borrowed=[])
    told = told.replace("# Your task", f"# Experience from earlier attempts\n{item}\n\n# Your task")
    first = [dict(claims(reply))["c_{1}"] for reply in many(told, 400)]
    share = first.count(WORLD.values["c_{1}"].right) / len(first)
    skill = Skill()
    assert share == pytest.approx(skill.reuses + (1 - skill.reuses) * skill.derives, abs=0.03)


def test_it_leaves_out_listed_strategies_as_often_as_it_obeys() -> None:
    listed = WORLD.strategies[0]
    task = "# Your task: solve the problem in a new way"
    text = f"{TEXT}\n\n# Strategies that were tried already\n- {listed}: its idea\n\n{task}"
    named = [strategy_of(reply) for reply in many(text, 1000)]
    disobeyed = (1 - Skill().obeys) * WORLD.habits[listed]
    assert named.count(listed) / len(named) == pytest.approx(disobeyed, abs=0.02)


def test_it_fixates_on_what_it_is_shown_though_that_leads_nowhere() -> None:
    lost = next(s for s in WORLD.strategies if s not in WORLD.viable)
    text = (
        f"{TEXT}\n\n# Attempts and what their checks found, best first\n"
        "## Attempt 1 (mean score of its checks: 0.60)\n"
        f"{written(lost)}\n\n# Your task: improve on the earlier attempts"
    )
    named = [strategy_of(reply) for reply in many(text, 400)]
    assert named.count(lost) / len(named) > 0.95


def test_choosing_an_approach_never_asks_which_are_viable(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [prompt("solution_initial"), f"{TEXT}\n# Your task: solve the problem in a new way"]
    before = [[strategy_of(reply) for reply in many(text, 50)] for text in texts]
    monkeypatch.setattr(WORLD, "viable", frozenset())
    assert before == [[strategy_of(reply) for reply in many(text, 50)] for text in texts]


@pytest.mark.parametrize("text", ["", TEXT, f"{TEXT}\n# Your task: sing", "# Your task: solve it"])
def test_a_prompt_that_is_none_of_ours_is_refused_and_counted(text: str) -> None:
    reasoner = Reasoner()
    with pytest.raises(UnknownPrompt):
        reasoner.speak([{"role": "user", "content": text}], 0)
    assert reasoner.asked == {"unknown": 1}


async def test_every_role_of_every_method_is_recognised() -> None:
    reasoner = Reasoner()
    names = [
        *METHODS,
        "pdr[methods.pdr.workspace=top-k]",
        "verify-refine[methods.verify_refine.meta_verification=true]",
        "debate[rollouts_tokens=100]",
    ]
    for name in names:
        assert await solved(3, name, SMALL, reasoner), name
    missing = {*SOLVING, *CHECKING, *NOTING} - {*reasoner.asked}
    assert missing == {"are they the same answer?"}  # which only grading asks
    assert "unknown" not in reasoner.asked


@pytest.mark.parametrize(("given", "said"), [("12", "yes"), ("13", "no"), ("1/2", "no")])
def test_the_judge_compares_answers(given: str, said: str) -> None:
    text = prompt("judge", gold="12", answer=given)
    assert one(text).endswith(rf"\boxed{{{said}}}")


async def test_a_run_is_repeated_exactly() -> None:
    runs = [await solved(3, "tmas", SMALL, Reasoner()) for _ in range(2)]
    assert runs[0] == runs[1]


def test_replies_are_as_long_as_asked_for() -> None:
    lengths = Lengths(words=600)
    rng = random.Random(1)
    words = sorted(
        len(lengths.padded("solve the problem", "short", rng).split()) for _ in range(300)
    )
    assert words[150] == pytest.approx(600, rel=0.15)
    assert words[-4] > 2 * words[150]


def test_values_are_derived_from_the_seed_alone() -> None:
    solvers = [Solver(WORLD, Skill(), random.Random("x")) for _ in range(2)]
    seen = read(prompt("solution_initial"))
    assert solvers[0].initial(seen) == solvers[1].initial(seen)


def test_no_reply_has_a_heading_that_a_prompt_could_take_for_its_own() -> None:
    texts = [one(prompt("solution_initial"), seed) for seed in range(50)]
    assert not [text for text in texts if re.search(r"^#", text, re.MULTILINE)]


class Recorded(Reasoner):
    """Keeps what it was shown and what it said, by task."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[str, list[tuple[str, str]]] = {}

    def speak(self, messages: Sequence[Message], seed: int, n: int = 1) -> Spoken:
        spoken = super().speak(messages, seed, n)
        shown = messages[-1]["content"]
        self.said.setdefault(spoken.task, []).extend((shown, text) for text in spoken.texts)
        return spoken


async def test_what_it_notes_is_read_back_whole_and_reaches_those_who_exploit() -> None:
    reasoner = Recorded()
    await solved(3, "tmas", SMALL.model_copy(update={"iterations": 3}), reasoner)
    notes = [text for _, text in reasoner.said["note what the next attempts can reuse"]]
    assert notes
    for text in notes:
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        read_back = experience.parse(Reply(text))
        assert len(read_back.added) + read_back.unknown == len(lines)
    items = [item.text for text in notes[:-1] for item in experience.parse(Reply(text)).added]
    exploiting = "\n".join(text for text, _ in reasoner.said["improve on the earlier attempts"])
    assert items
    assert [item for item in items if item in exploiting]
    for _, text in reasoner.said["list the strategies that were tried"]:
        lines = [strategy_lines.read(line, ["x"] * 9, 9) for line in text.splitlines()]
        assert all(line.attempts and (line.name or line.listed) for line in lines)
