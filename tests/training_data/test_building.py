"""Training data of real runs on a scripted server."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from endpoints.protocol import Request
from endpoints.reasoner import Reasoner, markers, role_of
from endpoints.scripted import ScriptedServer, server
from runs_on_script import begun, gone_on, problems_file, settings

from tmas_graph.errors import StorageError, ThreadChanged
from tmas_graph.evaluation import run_rows
from tmas_graph.evaluation.merging import merge
from tmas_graph.evaluation.run_folder import thread_name
from tmas_graph.grpo import rows as grpo_rows
from tmas_graph.models import pool
from tmas_graph.settings import Settings
from tmas_graph.state import digest
from tmas_graph.threads import open_threads
from tmas_graph.training_data import parquet
from tmas_graph.training_data.building import LOST, Built, Wanted, build
from tmas_graph.training_data.choosing import Choice
from tmas_graph.training_data.made_again import EMPTY, OTHER

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

EVERY = Wanted(Choice(difficulty=(0, 1), min_rollouts=1, held_out=0))
SCRIPT = Reasoner(wrong=("7",), chance=0.5).short()
TMAS: dict[str, Any] = {
    "candidates": 4,
    "iterations": 3,
    "epsilon": 0.5,
    "mode_draws": "stratified",
    "verifications": 1,
}
KEYS = Settings()


@dataclass(frozen=True)
class Made:
    """A run of TMAS, and what its server was asked."""

    folder: Path
    requests: tuple[Request, ...]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One run of four problems for all tests that only read it."""
    place = tmp_path_factory.mktemp("one")

    async def made() -> Made:
        async with server(script=SCRIPT, role_of=role_of) as at:
            folder = await run_of(at, place / "a", problems_file(place))
            await pool.close()
            return Made(folder, tuple(at.requests))

    return asyncio.run(made())


@pytest.fixture
async def at() -> AsyncIterator[ScriptedServer]:
    async with server(script=SCRIPT, role_of=role_of) as it:
        yield it


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return problems_file(tmp_path)


@pytest.fixture
def few(tmp_path: Path) -> Path:
    return problems_file(tmp_path, 2)


async def run_of(
    at: ScriptedServer, folder: Path, file: Path, methods: Sequence[str] = ("tmas",), **changes: Any
) -> Path:
    await begun(folder, file, settings(at, **{**TMAS, **changes}), methods)
    return folder


def prompts_of(built: Built, source: str) -> set[str]:
    every = (record for part in built.records.values() for record in part)
    return {str(r["prompt"]) for r in every if r["_source"] == source}


def records_of(built: Built) -> list[dict[str, Any]]:
    return [dict(record) for part in built.records.values() for record in part]


def asked(requests: Sequence[Request], role: str) -> set[str]:
    return {str(list(r.messages)) for r in requests if r.role == role}


def changed(file: Path, old: str, new: str) -> None:
    """Write `new` once in place of `old`."""
    file.write_text(file.read_text().replace(old, new, 1))


def torn_off(file: Path) -> None:
    """Spoil all of a database but its first pages."""
    content = file.read_bytes()
    file.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))


def cut(request: Request) -> bool:
    return "left out" in request.text


async def test_every_prompt_is_one_that_the_server_was_asked(one: Made) -> None:
    built = await build([one.folder], EVERY, KEYS)
    assert prompts_of(built, "normal") == asked(one.requests, "solution_initial")
    assert prompts_of(built, "experience") == asked(one.requests, "solution_exploit")
    assert prompts_of(built, "guideline") == asked(one.requests, "solution_explore")
    assert built.report.rows_left_out == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"retrieval": "all", "dedup": False},
        {"experience_tokens": 60, "guideline_tokens": 50},
        {"memory_scope": "run", "run_name": "shared"},
    ],
    ids=str,
)
async def test_so_it_is_however_the_banks_are_shown(
    at: ScriptedServer, few: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    folder = await run_of(at, tmp_path / "a", few, **changes)
    built = await build([folder], EVERY, KEYS)
    assert prompts_of(built, "experience") == asked(at.requests, "solution_exploit")
    assert prompts_of(built, "guideline") == asked(at.requests, "solution_explore")
    borrowed = any(i["problem"] for r in records_of(built) for i in r["extra_info"]["experience"])
    assert borrowed == ("memory_scope" in changes)
    # By their hashes, one of the two problems is among the first half.
    apart = await build([folder], Wanted(replace(EVERY.choice, held_out=0.5)), KEYS)
    assert [part.problems for part in apart.report.parts.values()] == [1, 1]
    lent = [note for note in apart.report.notes if "of held-out problems" in note]
    assert len(lent) == borrowed


async def test_prompts_that_were_cut_to_fit_are_those_that_were_sent(
    few: Path, tmp_path: Path
) -> None:
    async with server(script=SCRIPT, role_of=role_of, context=800, max_model_len=800) as at:
        folder = await run_of(at, tmp_path / "a", few, max_tokens=300)
        built = await build([folder], EVERY, KEYS)
        bare = await build([folder], Wanted(EVERY.choice, rollouts=False), KEYS)
        taken = [r for r in at.requests if r.status == 200]
    assert prompts_of(built, "experience") == asked(taken, "solution_exploit")
    assert prompts_of(built, "guideline") == asked(taken, "solution_explore")
    exploits = [r for r in taken if r.role == "solution_exploit"]
    assert any(cut(request) for request in exploits)
    assert not built.report.rows_left_out
    shown = {item for r in exploits for item in markers("EXP", r.text)}
    kept = {item for p in prompts_of(bare, "experience") for item in markers("EXP", p)}
    assert kept == shown


async def test_without_rollouts_an_experience_prompt_holds_the_bank_alone(one: Made) -> None:
    built = await build([one.folder], Wanted(EVERY.choice, rollouts=False), KEYS)
    whole = await build([one.folder], EVERY, KEYS)
    found = [r for r in records_of(built) if r["_source"] == "experience"]
    assert found
    for record in found:
        text = str(record["prompt"])
        assert markers("EXP", text)
        assert not markers("SOL", text)
        assert record["extra_info"]["rollouts"] == 0
    assert {
        (r["extra_info"]["problem"], r["extra_info"]["iteration"])
        for r in records_of(whole)
        if r["extra_info"]["rollouts"] > 0
    } == {(r["extra_info"]["problem"], r["extra_info"]["iteration"]) for r in found}
    assert prompts_of(built, "guideline") == prompts_of(whole, "guideline")


async def test_a_row_names_what_its_prompt_shows_and_where_it_comes_from(one: Made) -> None:
    found = records_of(await build([one.folder], EVERY, KEYS))
    questions = {f"p{i}": f"What is {i} + x?" for i in range(4)}
    plain = {r["extra_info"]["problem"]: r["prompt"] for r in found if r["_source"] == "normal"}
    assert plain.keys() == questions.keys()
    for record in found:
        extra, text = record["extra_info"], str(record["prompt"])
        name = extra["problem"]
        assert extra["question"] == questions[name]
        assert extra["problem_prompt"] == plain[name]
        assert record["reward_model"] == {
            "style": "rule",
            "ground_truth": "42" if int(name[1:]) % 2 else "7",
        }
        assert record["data_source"] == "math"
        assert (extra["run"], extra["method"], extra["model"]) == ("a", "tmas", "scripted")
        items = {mark for one in extra["experience"] for mark in markers("EXP", one["text"])}
        named = {mark for one in extra["strategies"] for mark in markers("STRAT", one["name"])}
        assert items == markers("EXP", text)
        assert named == markers("STRAT", text)
        if record["_source"] == "normal":
            assert (extra["iteration"], extra["thread"], items, named) == (None, "", set(), set())
        else:
            assert extra["iteration"] in (1, 2)
            assert extra["thread"] == thread_name("tmas", name)
            assert bool(items) == (record["_source"] == "experience")
            assert bool(named) == (record["_source"] == "guideline")


async def test_p0_is_the_share_of_right_answers_to_the_problem_alone(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    methods = ("tmas", "tmas-neither", "best-of-n[candidates=6]", "verify-refine")
    folder = await run_of(at, tmp_path / "a", file, methods, iterations=1)
    built = await build([folder], EVERY, KEYS)
    rows = run_rows.read(folder / run_rows.FILE).rows
    for record in records_of(built):
        extra = record["extra_info"]
        # Six draws: TMAS drew the first four of them, with the same seeds.
        [best] = [r for r in rows if (r.problem, r.method) == (extra["problem"], methods[2])]
        right = sum(attempt.status == "correct" for attempt in best.attempts)
        assert (extra["p0"], extra["p0_rollouts"]) == (right / 6, 6)
    report = built.report
    assert report.rollouts == {"tmas": 16, "best-of-n[candidates=6]": 8}
    assert report.rollouts_left_out == {"the same draw, recorded again": 4 * (4 + 4)}
    assert report.models == {"scripted": 24}
    assert sum(report.p0.values()) == 4


async def test_draws_without_a_seed_all_count(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    methods = ("tmas-neither", "self-consistency")
    folder = await run_of(at, tmp_path / "a", file, methods, send_seed=False, iterations=1)
    report = (await build([folder], EVERY, KEYS)).report
    assert report.rollouts == {"tmas-neither": 16, "self-consistency": 16}
    assert report.rollouts_left_out == {}


async def test_runs_without_tmas_give_normal_prompts_alone(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    folder = await run_of(at, tmp_path / "a", file, ("self-consistency",))
    built = await build([folder], EVERY, KEYS)
    assert built.report.parts["train"].rows == {"normal": 4, "experience": 0, "guideline": 0}


async def test_without_a_bank_no_prompt_is_called_one_with_a_bank(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    methods = ("tmas-neither", "tmas-no-guideline")
    folder = await run_of(at, tmp_path / "a", file, methods, iterations=2)
    built = await build([folder], EVERY, KEYS)
    assert prompts_of(built, "experience")
    assert not prompts_of(built, "guideline")
    # Of each problem two modes without any bank, and one without guidelines.
    assert built.report.rows_left_out[EMPTY] == 4 * 3


async def test_several_runs_are_joined_and_a_run_given_twice_is_read_once(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    first = await run_of(at, tmp_path / "a", file, candidates=2, iterations=2)
    second = await run_of(at, tmp_path / "b", file, candidates=2, iterations=2, seed=1)
    both = await build([first, second, first / ".." / "a"], EVERY, KEYS)
    apart = [await build([folder], EVERY, KEYS) for folder in (first, second)]
    assert [Path(run).name for run in both.report.runs] == ["a", "b"]
    for source in grpo_rows.SOURCES:
        assert prompts_of(both, source) == set().union(*(prompts_of(b, source) for b in apart))
    assert both.report.rows_left_out == {"the same prompt is there already": 4}
    assert {r["extra_info"]["p0_rollouts"] for r in records_of(both)} == {4}


async def test_a_run_that_was_moved_and_lost_its_memory_gives_the_same(
    one: Made, tmp_path: Path
) -> None:
    moved = tmp_path / "a"
    shutil.copytree(one.folder, moved, ignore=shutil.ignore_patterns("memory"))
    before = await build([one.folder], EVERY, KEYS)
    assert (await build([moved], EVERY, KEYS)).records == before.records
    assert not (moved / "memory").exists()


async def test_a_run_without_its_database_says_so(one: Made, tmp_path: Path) -> None:
    lost, torn = tmp_path / "lost", tmp_path / "torn"
    shutil.copytree(one.folder, lost, ignore=shutil.ignore_patterns("memory", "*.sqlite*"))
    report = (await build([lost], EVERY, KEYS)).report
    assert report.rows_left_out == {LOST: 4}
    assert report.parts["train"].rows == {"normal": 4, "experience": 0, "guideline": 0}
    shutil.copytree(one.folder, torn, ignore=shutil.ignore_patterns("memory", "*-wal", "*-shm"))
    torn_off(torn / "tmas.sqlite")
    with pytest.raises(StorageError, match=r"torn.* can't be (read|used) \("):
        await build([torn], EVERY, KEYS)


async def test_the_same_runs_give_the_same_files(one: Made) -> None:
    first, again = [await build([one.folder], EVERY, KEYS) for _ in range(2)]
    assert first == again


async def test_a_resumed_run_is_made_again_too(
    at: ScriptedServer, few: Path, tmp_path: Path
) -> None:
    folder = await run_of(at, tmp_path / "a", few, iterations=2)
    await gone_on(folder, settings(at), changes={"iterations": 3})
    built = await build([folder], EVERY, KEYS)
    assert prompts_of(built, "experience") == asked(at.requests, "solution_exploit")
    assert prompts_of(built, "guideline") == asked(at.requests, "solution_explore")
    assert not built.report.rows_left_out


async def test_a_prompt_that_cannot_be_made_again_is_left_out_and_counted(
    at: ScriptedServer, few: Path, tmp_path: Path
) -> None:
    folder = await run_of(at, tmp_path / "a", few, ("tmas",), epsilon=0.0, iterations=2)
    async with open_threads(folder) as store:
        await store._db.execute(
            "UPDATE tmas_threads SET settings = replace(settings, ?, ?)",
            ('"rollouts_tokens": 24000', '"rollouts_tokens": 100'),
        )
        await store._db.commit()
    built = await build([folder], EVERY, KEYS)
    assert built.report.rows_left_out == {OTHER: 2}
    assert not prompts_of(built, "experience")


async def test_templates_that_changed_since_are_used_as_they_are_now(
    at: ScriptedServer, few: Path, tmp_path: Path
) -> None:
    own = tmp_path / "prompts"
    own.mkdir()
    text = (
        "{% block user %}{{ problem }} # Your task: improve on the earlier attempts{% endblock %}"
    )
    (own / "solution_exploit.md").write_text(text)
    folder = await run_of(at, tmp_path / "a", few, prompts_folder=str(own), iterations=2)
    (own / "solution_exploit.md").write_text(text.replace("{{ problem }}", "New: {{ problem }}"))
    built = await build([folder], EVERY, KEYS)
    found = prompts_of(built, "experience")
    assert len(found) == 2
    assert all("New: What is" in prompt for prompt in found)
    assert "the templates of 2 prompts have changed since they were sent" in built.report.notes


async def test_problems_are_left_out_by_what_is_wrong_with_them(
    at: ScriptedServer, tmp_path: Path
) -> None:
    file = tmp_path / "problems.jsonl"
    golds = {"good": "42", "none": None, "words": "see the figure above", "other": "9"}
    lines = [{"problem_id": n, "question": f"Of {n}?", "answer": g} for n, g in golds.items()]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder = await run_of(at, tmp_path / "a", file, ("self-consistency[candidates=8]",))
    built = await build([folder], Wanted(), KEYS)
    left_out = dict(built.report.problems_left_out)
    assert left_out.pop("no reference answer") == 1
    assert sum(left_out.values()) + sum(p.problems for p in built.report.parts.values()) == 3
    assert left_out["solved by no rollout (p0 is 0)"] >= 1


async def test_p0_can_be_counted_over_one_model_alone(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    folder = await run_of(at, tmp_path / "a", file, ("self-consistency",))
    wanted = Wanted(EVERY.choice, model="another")
    built = await build([folder], wanted, KEYS)
    assert built.report.rollouts_left_out == {"written by another model": 16}
    assert built.report.problems_left_out == {"fewer than 1 rollouts without a bank": 4}
    assert set(built.report.notes) == {"train has no row", "held_out has no row"}


async def test_a_problem_that_is_under_way_is_passed_over(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    folder = await run_of(at, tmp_path / "a", file)
    whole = await build([folder], EVERY, KEYS)
    lines = (folder / run_rows.FILE).read_text().splitlines(keepends=True)
    gone = json.loads(lines[-1])["problem"]
    kept = [line for line in lines if json.loads(line)["problem"] != gone]
    torn = next(line for line in lines if json.loads(line)["problem"] == gone)
    (folder / run_rows.FILE).write_text("".join(kept) + torn[: len(torn) // 2])
    built = await build([folder], EVERY, KEYS)
    assert {r["extra_info"]["problem"] for r in records_of(built)} == {
        r["extra_info"]["problem"] for r in records_of(whole)
    } - {gone}
    assert any("passed over, as a crash left this line" in note for note in built.report.notes)


async def test_folders_that_are_no_runs_are_named(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    with pytest.raises(StorageError, match=r"is no run, as it has no run\.json"):
        await build([tmp_path], EVERY, KEYS)
    folder = await run_of(at, tmp_path / "a", file, ("self-consistency",))
    other = await run_of(at, tmp_path / "b", file, ("self-consistency",))
    merge(tmp_path / "both", [folder, other])
    with pytest.raises(StorageError, match=r"is a merge, which has no threads\. Give its parts"):
        await build([tmp_path / "both"], EVERY, KEYS)
    lines = (folder / run_rows.FILE).read_text()
    (folder / run_rows.FILE).write_text("")
    with pytest.raises(StorageError, match="no problem of this run has ended"):
        await build([folder], EVERY, KEYS)
    (folder / run_rows.FILE).write_text(lines.replace('"mode"', '"made"', 1))
    with pytest.raises(StorageError, match=r"rows\.jsonl:1: "):
        await build([folder], EVERY, KEYS)


async def test_a_data_set_that_changed_is_refused(
    at: ScriptedServer, file: Path, tmp_path: Path
) -> None:
    folder = await run_of(at, tmp_path / "a", file, ("self-consistency",))
    changed(file, '"42"', '"43"')
    with pytest.raises(ThreadChanged, match="aren't those that the run was about"):
        await build([folder], EVERY, KEYS)


async def test_what_was_written_is_read_by_the_trainer(one: Made, tmp_path: Path) -> None:
    built = await build([one.folder], EVERY, KEYS)
    parquet.write(tmp_path / "train.parquet", built.records["train"])
    found = grpo_rows.read(tmp_path / "train.parquet")
    assert Counter(row.source for row in found) == built.report.parts["train"].rows
    for row, record in zip(found, built.records["train"], strict=True):
        extra = record["extra_info"]
        assert list(row.prompt) == record["prompt"]
        assert list(row.problem_prompt) == extra["problem_prompt"]
        assert row.ground_truth == record["reward_model"]["ground_truth"]
        assert (row.index, row.problem, row.p0) == (extra["index"], extra["problem"], extra["p0"])
        assert list(row.experience) == [item["text"] for item in extra["experience"]]
        assert [(s.name, s.essence) for s in row.strategies] == [
            (s["name"], s["essence"]) for s in extra["strategies"]
        ]
    assert digest(str(found)) == digest(str(grpo_rows.read(tmp_path / "train.parquet")))
