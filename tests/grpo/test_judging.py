r"""The judge of novelty, against a scripted server: what it is asked, read, kept and spared."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from endpoints.scripted import ScriptedServer, server

from tmas_graph.errors import EndpointDown, RequestRefused, SettingsError
from tmas_graph.grpo import judging
from tmas_graph.grpo.judging import ModelJudge, key_of, messages_of, opened, parse
from tmas_graph.grpo.novelty import JudgeSettings, Verdict

pytestmark = pytest.mark.anyio
LISTED = ("Adding: one number after the other", "Pairing: pair the terms")
SOLUTION = r"The triangle of dots is half of a rectangle. \boxed{55}"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging.Patience, "before", lambda *_: 0.0)


@asynccontextmanager
async def judge_at(
    at: ScriptedServer, folder: Path, key: str = "", **changes: Any
) -> AsyncIterator[ModelJudge]:
    settings = JudgeSettings(base_url=at.base_url, model="scripted", **changes)
    async with opened(settings, key, folder) as judge:
        assert judge is not None
        yield judge


@pytest.mark.parametrize(
    ("reply", "novelty"),
    [
        (r"It counts dots. \boxed{novel}", "novel"),
        (r"\boxed{ listed }", "listed"),
        (r"<think>\boxed{novel}?</think> No. \boxed{unused}", "unused"),
        (r"\boxed{novel}, or rather \boxed{listed}", "unreadable"),
        (r"\boxed{new}", "unreadable"),
        (r"\boxed{Novel}", "unreadable"),
        (r"\boxed{novel", "unreadable"),
        (r"<think>\boxed{novel}", "unreadable"),
        ("It is novel.", "unreadable"),
        ("", "unreadable"),
    ],
)
def test_a_verdict_is_one_known_word_in_one_box(reply: str, novelty: str) -> None:
    assert parse(reply) == Verdict(novelty, reply)  # type: ignore[arg-type]


def test_a_reply_that_was_cut_off_is_unreadable() -> None:
    assert parse(r"\boxed{novel}", truncated=True).novelty == "unreadable"


def test_the_question_holds_solution_and_strategies_as_they_are() -> None:
    solution = r"{{ listed }} {% block user %} \frac{1}{2} $x$ <b>"
    system, user = messages_of(solution, LISTED)
    assert (system["role"], user["role"]) == ("system", "user")
    assert f"# Solution\n{solution}\n" in user["content"]
    assert f"1. {LISTED[0]}\n2. {LISTED[1]}\n" in user["content"]
    for novelty in ("listed", "novel", "unused"):
        box = rf"\boxed{{{novelty}}}"
        assert box in user["content"]  # what the prompt asks for is what is read
        assert parse(box).novelty == novelty


async def test_each_question_is_asked_once(tmp_path: Path) -> None:
    async with (
        server(script=lambda *_: r"New. \boxed{novel}") as at,
        judge_at(at, tmp_path) as judge,
    ):
        at_once = await asyncio.gather(*(judge(SOLUTION, LISTED) for _ in range(3)))
        later = await judge(SOLUTION, LISTED)
        other = await judge(SOLUTION, LISTED[:1])
    assert [one.how for one in (*at_once, later, other)] == [
        *("asked", "known", "known"),
        *("known", "asked"),
    ]
    assert {one.novelty for one in (*at_once, later, other)} == {"novel"}
    asked = [request.body for request in at.requests]
    assert len(asked) == 2
    assert asked[0]["model"] == "scripted"
    assert asked[0]["temperature"] == 0
    assert asked[0]["messages"] == list(messages_of(SOLUTION, LISTED))


async def test_a_resumed_run_knows_its_verdicts_and_what_it_has_spent(tmp_path: Path) -> None:
    async with server(script=lambda *_: r"\boxed{novel}") as at:
        async with judge_at(at, tmp_path) as judge:
            await judge(SOLUTION, LISTED)
        with (tmp_path / "judge.jsonl").open("a") as file:
            file.write('{"key": "to')  # torn by a crash
        async with judge_at(at, tmp_path, max_calls=1) as judge:
            known, more = await judge(SOLUTION, LISTED), await judge("Another one.", LISTED)
    assert known == Verdict("novel", r"\boxed{novel}", "known")
    assert more == Verdict("unknown", "", "capped")
    assert len(at.requests) == 1
    kept = json.loads((tmp_path / "judge.jsonl").read_text().splitlines()[0])
    assert (kept["novelty"], kept["reply"]) == ("novel", r"\boxed{novel}")


def failing_at_first(status: int, text: str) -> ScriptedServer:
    """A server that answers its first request with `status` and others with `text`."""
    return server(
        script=lambda *_: text, fail=lambda request: status if not request.index else None
    )


async def test_a_passing_fault_is_asked_again(tmp_path: Path) -> None:
    async with (
        failing_at_first(503, r"\boxed{listed}") as at,
        judge_at(at, tmp_path) as judge,
    ):
        assert (await judge(SOLUTION, LISTED)).novelty == "listed"
    assert len(at.requests) == 2


async def test_a_question_that_is_refused_stays_unknown(tmp_path: Path) -> None:
    async with (
        failing_at_first(400, r"\boxed{novel}") as at,
        judge_at(at, tmp_path) as judge,
    ):
        refused = await judge(SOLUTION, LISTED)
        again = await judge(SOLUTION, LISTED)
    assert (refused.novelty, refused.how) == ("unknown", "refused")
    assert (again.novelty, again.how) == ("novel", "asked")


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (500, EndpointDown, "status 500"),
        (404, RequestRefused, r"See novelty\.judge\.base_url"),
    ],
)
async def test_a_judge_that_is_down_or_unknown_ends_the_run(
    tmp_path: Path, status: int, kind: type[Exception], message: str
) -> None:
    async with (
        server(script=lambda *_: "", fail=lambda _: status) as at,
        judge_at(at, tmp_path) as judge,
    ):
        with pytest.raises(kind, match=message):
            await judge(SOLUTION, LISTED)
    assert not (tmp_path / "judge.jsonl").exists()


async def test_the_key_is_sent(tmp_path: Path) -> None:
    async with server(script=lambda *_: r"\boxed{novel}", key="secret") as at:
        async with judge_at(at, tmp_path, "secret") as judge:
            assert (await judge(SOLUTION, LISTED)).novelty == "novel"
        async with judge_at(at, tmp_path / "none") as judge:
            with pytest.raises(RequestRefused, match="Give the server's API key"):
                await judge("Another.", LISTED)


def test_the_key_is_found_by_the_name_of_its_variable() -> None:
    settings = JudgeSettings(base_url="http://x/v1", model="m", key_variable="JUDGE_KEY")
    assert key_of(settings, {"JUDGE_KEY": "secret"}) == "secret"
    assert key_of(settings.model_copy(update={"key_variable": ""}), {}) == ""
    assert key_of(None, {}) == ""
    with pytest.raises(SettingsError, match=r"JUDGE_KEY isn't in the environment. Run: export"):
        key_of(settings, {})


async def test_without_settings_there_is_no_judge(tmp_path: Path) -> None:
    async with opened(None, "", tmp_path) as judge:
        assert judge is None
