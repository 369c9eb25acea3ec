import re
from pathlib import Path
from typing import Any

import pytest

from tmas_graph.agents import experience, guideline, solution, summary, verification
from tmas_graph.agents.fitting import Shown
from tmas_graph.answers.extract import answer_of
from tmas_graph.errors import PromptError
from tmas_graph.memory.borrowing import Borrowed
from tmas_graph.memory.guideline_bank import Listed, Report, listed
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.retrieval import Noted
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Message, Prompt, Prompts, estimate_tokens, score_text
from tmas_graph.state import Kind, Problem, Rollout, Strategy, Verification

HOSTILE = r"\boxed{\frac{1}{2}} {{ x }} {% raw %} {# no #} $%s %d {0} \u0041 <b>&amp;"
NAMES = {
    "solution_initial",
    "solution_exploit",
    "solution_explore",
    "verification",
    "summary",
    "experience",
    "guideline",
}
ROLLOUTS = (
    Rollout(
        0,
        0,
        "initial",
        solution=f"SOLUTION {HOSTILE}",
        verifications=(Verification("", 0.5),),
        summary=f"SUMMARY {HOSTILE}",
        outcome="finished",
    ),
    Rollout(0, 1, "initial", summary="LEFT OUT", outcome="finished"),
)
ITEMS = (
    Noted(Item("pitfall", f"ITEM {HOSTILE}", f"IF {HOSTILE}"), Entry("a", 0, supported=(1, 2)), 1),
    Noted(
        Item("conclusion", f"WRONG {HOSTILE}"),
        Entry("b", 0, contradicted=(1,), reason=f"WHY {HOSTILE}"),
        4,
    ),
)
KNOWN = (
    Strategy(f"NAME {HOSTILE}", f"ESSENCE {HOSTILE}", ((0, 2), (1, 1)), 0.5, f"END {HOSTILE}"),
    Strategy("BARE", "", ((0, 1),)),
    Strategy(f"FOLDED\n# Your task: {HOSTILE}", "", ((0, 1),)),
    Strategy("LAST", "", ((0, 1),)),
)
STRATEGIES = Listed(listed(KNOWN, 10**6).full[:2], listed(KNOWN, 10**6).full[2:])
LENT = (
    Borrowed("technique", f"LENT {HOSTILE}", f"FOR {HOSTILE}", "supported", "", "p"),
    Borrowed("technique", f"FAILED {HOSTILE}", "", "refuted", f"BECAUSE {HOSTILE}", "p"),
    Borrowed("pitfall", f"BEWARE {HOSTILE}", "", "open", "", "p"),
)
EXPLOIT = Shown(rollouts=ROLLOUTS, experience=ITEMS, borrowed=LENT)
CHECKS = (Verification(f"ANALYSIS {HOSTILE}", 0.5),)


class Script:
    """A model that answers with one text, and keeps what it was asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[Message] = []

    async def __call__(self, prompt: Prompt, *, n: int = 1) -> list[Reply]:
        self.asked = prompt.messages
        return [Reply(self.answer)] * n


def solved_by(prompt_of: Any) -> Any:
    """The call of a Solution agent whose prompt is `prompt_of(prompts, problem, …)`."""

    async def call(model: Script, prompts: Prompts, problem: Problem, *values: Any) -> Reply:
        [reply] = await model(prompt_of(prompts, problem, *values))
        return reply

    return call


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["answer", "proof"])
async def test_every_template_takes_its_values_and_what_it_asks_for_is_read_back(
    kind: Kind,
) -> None:
    problem, prompts = Problem(f"QUESTION {HOSTILE}", kind=kind), Prompts()
    rendered: dict[str, str] = {}

    async def ask(name: str, answer: str, call: Any, *values: Any, **named: Any) -> Any:
        script = Script(answer)
        reply = await call(script, prompts, problem, *values, **named)
        assert [m["role"] for m in script.asked] == ["system", "user"]
        rendered[name] = script.asked[1]["content"]
        assert problem.question in rendered[name]
        return reply

    solved = "Step. \\boxed{\\frac{1}{2}}"
    begun = Rollout(1, 0, "exploit")
    for name, call, values in (
        ("solution_initial", solution.initial, ()),
        ("solution_exploit", solution.exploit, (EXPLOIT,)),
        ("solution_explore", solution.explore, (STRATEGIES,)),
    ):
        reply = await ask(name, solved, solved_by(call), *values)
        done = solution.written(begun, reply, problem)
        assert (done.solution, done.answer) == (
            solved,
            "\\frac{1}{2}" if kind == "answer" else None,
        )
    checked = await ask(
        "verification", "Step 1 holds.\n\n\\boxed{0.5}", verification.verify, HOSTILE, passes=2
    )
    assert [v.score for v in verification.parsed(checked, 2)] == [0.5, 0.5]
    assert HOSTILE in rendered["verification"]
    reply = await ask("summary", "Step 1 holds.", summary.summarise, "TEXT " + HOSTILE, CHECKS)
    assert summary.parse(reply) == "Step 1 holds."
    reply = await ask("experience", "- [technique] use \\frac", experience.extract, ROLLOUTS, ITEMS)
    assert experience.parse(reply).added == (Item("technique", "use \\frac"),)
    said = "- Induction on n: a step (attempt 2): it fails\n- G2 (attempts 1, 2): it holds"
    reply = await ask("guideline", said, guideline.name_strategies, ROLLOUTS, STRATEGIES)
    assert guideline.parse(reply, KNOWN, 2).said == (
        Report("Induction on n", "a step", frozenset({2}), "it fails"),
        Report(attempts=frozenset({1, 2}), outcome="it holds", listed=2),
    )

    assert set(rendered) == NAMES == set(prompts.hashes())
    strategy = f"NAME {HOSTILE}: ESSENCE {HOSTILE} (tried 3×, best score 0.50): END {HOSTILE}"
    for name, texts in {
        "solution_exploit": [
            f"SOLUTION {HOSTILE}",
            f"SUMMARY {HOSTILE}",
            f"- [pitfall] ITEM {HOSTILE} (if: IF {HOSTILE}) (supported by 2)\n",
            f"- [pitfall] It is not true that WRONG {HOSTILE}: WHY {HOSTILE}\n",
            "# From other problems; check whether they apply here\n"
            f"- [technique] LENT {HOSTILE} (if: FOR {HOSTILE})\n",
            f"- [pitfall] This didn't work there: FAILED {HOSTILE}: BECAUSE {HOSTILE}\n"
            f"- [pitfall] BEWARE {HOSTILE}\n",
        ],
        "solution_explore": [
            f"- {strategy}\n",
            "- BARE (tried 1×)\n",
            f"- also tried: FOLDED # Your task: {HOSTILE}; LAST\n",
        ],
        "summary": [f"TEXT {HOSTILE}", f"ANALYSIS {HOSTILE}"],
        "experience": [
            f"SOLUTION {HOSTILE}",
            f"- E1 [pitfall] ITEM {HOSTILE} (if: IF {HOSTILE}) (supported by 2)\n",
            f"- E4 [conclusion] WRONG {HOSTILE} (refuted: WHY {HOSTILE})\n",
        ],
        "guideline": [
            f"SUMMARY {HOSTILE}",
            f"- G1 {strategy}\n",
            "- G2 BARE (tried 1×)\n",
            f"- also tried: G3 FOLDED # Your task: {HOSTILE}; G4 LAST\n",
        ],
    }.items():
        assert [text for text in texts if text not in rendered[name]] == []


def test_what_the_templates_ask_for_is_what_the_parsers_read() -> None:
    """The forms that a template shows, taken from the template itself."""
    common: dict[str, Any] = {"problem": "Q", "kind": "answer", "rollouts": ROLLOUTS, "items": 3}
    text = Prompts().render("verification", solution="S", **common)[1]["content"]
    boxes = re.findall(r"\\boxed\{[^}]*\}", text)
    assert [verification.score_of(box) for box in boxes] == [1.0, 0.5, 0.0]
    text = Prompts().render("experience", experience=ITEMS, **common)[1]["content"]
    task = text[text.index("# Your task") :].replace("ID", "E1")
    read = experience.parse(Reply("\n".join(re.findall(r"^- .*$", task, re.M))), ITEMS)
    assert [item.kind for item in read.added] == ["conclusion", "technique", "pitfall"]
    assert read.supported == ("a",)
    assert read.refuted == {"a": "the reason, in a few words"}
    assert [item.kind for item in read.corrected.values()] == ["conclusion"]
    [form] = re.findall(r"\(if: .*?\)", task)
    [item] = experience.parse(Reply(f"- [conclusion] x {form}")).added
    assert (item.text, item.conditions) == ("x", "n is odd")
    text = Prompts().render("experience", experience=(), **common)[1]["content"]
    assert not re.search(r"support|refute|\bID\b", text)
    text = Prompts().render("guideline", strategies=STRATEGIES, **common)[1]["content"]
    forms = re.findall(r"^- .*$", text[text.index("# Your task") :], re.M)
    named = "\n".join(forms).replace("NAME", "Induction").replace("ID", "G3")
    assert guideline.parse(Reply(named), KNOWN, 4).said == (
        Report(
            "Induction",
            "the main idea in one sentence",
            frozenset({1, 3}),
            "how it ended, in a few words",
        ),
        Report(attempts=frozenset({2, 4}), outcome="how it ended, in a few words", listed=3),
    )
    text = Prompts().render("guideline", strategies=Listed(), **common)[1]["content"]
    assert not re.search(r"listed|\bID\b|G1", text)


def test_answer_and_proof_problems_are_worded_apart() -> None:
    def text(name: str, kind: str) -> str:
        return Prompts().render(name, problem="Q", kind=kind, solution="S")[1]["content"]

    assert "\\boxed{}" in text("solution_initial", "answer")
    assert "proof" in text("solution_initial", "proof")
    assert "\\boxed" not in text("solution_initial", "proof")
    assert text("verification", "answer") != text("verification", "proof")


def test_the_first_iteration_mentions_no_memory() -> None:
    text = Prompts().render("solution_initial", problem="Q", kind="answer")[1]["content"]
    assert not re.search("attempt|experience|strateg", text, re.IGNORECASE)


def test_empty_memory_leaves_no_empty_headings() -> None:
    for name in ("solution_exploit", "solution_explore"):
        text = Prompts().render(
            name,
            problem="Q",
            kind="answer",
            rollouts=(),
            experience=(),
            borrowed=(),
            strategies=Listed(),
        )[1]["content"]
        assert re.findall("^# .*", text, re.M)[0] == "# Problem"
        assert len(re.findall("^# ", text, re.M)) == 2


def put(folder: Path, name: str, text: str) -> Prompts:
    (folder / f"{name}.md").write_text(text)
    return Prompts(str(folder))


def test_a_folder_replaces_one_template_and_its_hash(tmp_path: Path) -> None:
    prompts = put(tmp_path, "summary", "{% block user %}Mine: {{ solution }}{% endblock %}")
    assert prompts.render("summary", solution="S {{ x }}") == [
        {"role": "user", "content": "Mine: S {{ x }}"}
    ]
    given = {"problem": "Q", "kind": "proof"}
    assert prompts.render("solution_initial", **given) == Prompts().render(
        "solution_initial", **given
    )
    changed = {n for n, h in prompts.hashes().items() if Prompts().hashes()[n] != h}
    assert changed == {"summary"}


class Counted:
    """Counts how often it is rendered."""

    def __init__(self) -> None:
        self.times = 0

    def __str__(self) -> str:
        self.times += 1
        return "said"


def test_a_block_is_rendered_once_and_sees_what_the_template_and_its_parents_set(
    tmp_path: Path,
) -> None:
    put(tmp_path, "_base", "{% block system %}S{% endblock %}{% block user %}{% endblock %}")
    child = (
        '{% extends "_base.md" %}{% set who = "me" %}'
        "{% block user %}{{ problem }} {{ who }} {{ super() }}{% endblock %}"
    )
    prompts, problem = put(tmp_path, "summary", child), Counted()
    messages = prompts.render("summary", problem=problem)
    assert [message["content"] for message in messages] == ["S", "said me"]
    assert problem.times == 1


def test_a_replaced_part_changes_the_hash_of_all_that_include_it(tmp_path: Path) -> None:
    prompts = put(tmp_path, "_answer_form", "Answer in a box.")
    changed = {n for n, h in prompts.hashes().items() if Prompts().hashes()[n] != h}
    assert changed == {"solution_initial", "solution_exploit", "solution_explore"}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{% block user %}{{ nothing }}{% endblock %}", "'nothing' is undefined"),
        ("{% block user %}{{ solution.x.y }}{% endblock %}", "has no attribute 'x'"),
        ("{% block user %}{{ solution", "unexpected end of template"),
        ("{% block user %}{% include 'gone.md' %}{% endblock %}", "there is no gone.md"),
        ("{% block user %}{{ solution | score }}{% endblock %}", "format code"),
        ("{% block user %}{{ 1 / 0 }}{% endblock %}", "division by zero"),
        ("{% block user %}{{ ''.__class__.__mro__ }}{% endblock %}", "unsafe"),
        ("just text", "block user"),
    ],
)
def test_a_template_that_cant_be_used_says_why_and_where(
    tmp_path: Path, source: str, said: str
) -> None:
    prompts = put(tmp_path, "summary", source)
    with pytest.raises(PromptError, match=said) as caught:
        prompts.render("summary", solution="S")
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("raw", [b"{% block user %}{{", b"\xff\xfe"])
def test_a_template_that_cant_be_parsed_has_no_hash(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "summary.md").write_bytes(raw)
    with pytest.raises(PromptError, match=r"summary\.md in .*Mend the template\."):
        Prompts(str(tmp_path)).hashes()


def test_an_unknown_template_and_a_missing_folder_are_said(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"there is no nothing\.md in the shipped prompts"):
        Prompts().render("nothing")
    with pytest.raises(PromptError, match=r"gone is no folder\. Create it"):
        Prompts(str(tmp_path / "gone")).hashes()


def test_an_unknown_score_is_not_zero() -> None:
    assert (score_text(None), score_text(0.0), score_text(2 / 3)) == ("unknown", "0.00", "0.67")


def test_tokens_are_rather_overestimated_and_any_text_has_some() -> None:
    assert estimate_tokens("a" * 30) == 11
    assert estimate_tokens("数" * 10) >= 10
    assert estimate_tokens("\ud800") > 0


@pytest.mark.anyio
async def test_the_small_set_shows_worked_examples_that_the_parsers_read() -> None:
    prompts, problem = Prompts(set="small"), Problem("QUESTION")
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = [
        (solved_by(solution.initial), (), {}, lambda reply: answer_of(reply.text)),
        (solved_by(solution.exploit), (EXPLOIT,), {}, lambda reply: reply.text),
        (solved_by(solution.explore), (STRATEGIES,), {}, lambda reply: answer_of(reply.text)),
        (verification.verify, ("TEXT",), {"passes": 1}, lambda r: verification.parse(r).score),
        (summary.summarise, ("TEXT", CHECKS), {}, summary.parse),
        (experience.extract, (ROLLOUTS, ITEMS), {}, lambda r: experience.parse(r).added),
        (guideline.name_strategies, (ROLLOUTS, STRATEGIES), {}, lambda r: guideline.parse(r).said),
    ]
    for call, values, named, read in calls:
        script = Script("x")
        await call(script, prompts, problem, *values, **named)
        turns = [m for m in script.asked if m["role"] != "system"]
        assert [m["role"] for m in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"]
        assert "QUESTION" in turns[-1]["content"]
        examples = [Reply(m["content"]) for m in turns if m["role"] == "assistant"]
        assert examples
        assert all(read(reply) not in (None, "", ()) for reply in examples)
    assert set(prompts.hashes()) == NAMES
    assert prompts.hashes() != Prompts().hashes()
