"""What a resume notices, and what may change."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tmas_graph.errors import ThreadChanged
from tmas_graph.graph import GRAPH_VERSION
from tmas_graph.prompts import Prompts
from tmas_graph.records import Record, differences, refuse_other_version
from tmas_graph.settings import ROLES, Settings
from tmas_graph.state import Problem
from tmas_graph.threads import open_threads

MODELS = dict.fromkeys(ROLES, "m")
MADE: dict[str, Any] = {"base_url": "http://a.example/v1", "candidates": 4}


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What a thread that was made with `before` says of going on with `after`."""
    made, now = (Settings.checked({**MADE, **values}) for values in (before, after))
    hashes = Prompts.of(made).hashes()
    at = "2026-01-01T00:00:00+00:00"
    problem = Problem("Q")
    record = Record("t", problem, made, hashes, MODELS, GRAPH_VERSION, "done", "", at, at)
    return differences(record, now, MODELS)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"temperature": 0.7}, ["temperature (0.6 → 0.7)"]),
        (
            {"roles": {"verification": {"temperature": 0.1}}},
            ["roles.verification.temperature (0.6 → 0.1)"],
        ),
        ({"roles": {"summary": {"max_tokens": 5}}}, ["roles.summary.max_tokens (None → 5)"]),
        ({"roles": {"summary": {"temperature": 0.6}}}, []),
        ({"roles": {"judge": {"temperature": 0.9}}}, []),
        (
            {"temperature": 0.7, "roles": {"summary": {"temperature": 0.6}}},
            ["temperature (0.6 → 0.7)"],
        ),
    ],
)
def test_changed_sampling_is_noticed_for_all_or_for_one_role(
    after: dict[str, Any], said: list[str]
) -> None:
    assert changes({}, after) == said


def test_a_role_keeps_its_own_when_what_holds_for_all_changes() -> None:
    own = {"roles": {"summary": {"temperature": 0.1}}}
    assert changes(own, {**own, "temperature": 0.7}) == ["temperature (0.6 → 0.7)"]
    assert changes(own, {}) == ["roles.summary.temperature (0.1 → 0.6)"]


@pytest.mark.parametrize(
    "after",
    [
        {"max_calls": 5, "max_total_tokens": 5, "max_cost": 0.5, "max_seconds": 5},
        {"concurrency": 5, "requests_per_minute": 5, "tokens_per_minute": 5, "attempts": 5},
        {"timeout_seconds": 5, "stall_seconds": 5, "telemetry": True, "tokenizer": "x"},
        {"prices": {"*": {"prompt": 1}}},
        {"roles": {"summary": {"timeout_seconds": 5, "stall_seconds": 5, "attempts": 5}}},
    ],
)
def test_what_changes_no_reply_may_differ(after: dict[str, Any]) -> None:
    assert changes({}, after) == []


def test_a_thread_of_another_version_of_the_graph_is_refused() -> None:
    old = Record("t", Problem("Q"), Settings(), {}, MODELS, GRAPH_VERSION - 1, "done", "", "", "")
    with pytest.raises(ThreadChanged, match=r"t was made by version \d+ of the graph.*new thread"):
        refuse_other_version(old)


@pytest.mark.anyio
async def test_a_moved_home_takes_its_memory_along_and_a_copy_is_apart(tmp_path: Path) -> None:
    async def places(home: str) -> dict[str, str | None]:
        async with open_threads(tmp_path / home) as store:
            return {record.id: record.settings.memory_folder for record in await store.all()}

    shared = Settings.checked({"memory_scope": "library"})
    away = Settings.checked({"memory_folder": str(tmp_path / "away")})
    async with open_threads(tmp_path / "old") as store:
        for name, given in (("own", Settings()), ("shared", shared), ("away", away)):
            await store.create(Problem("Q"), given, MODELS, name=name)
    inside = {"own": "memory/own", "shared": "library"}
    expected = {"away": str(tmp_path / "away")}
    assert await places("old") == expected | {n: f"{tmp_path}/old/{p}" for n, p in inside.items()}
    shutil.copytree(tmp_path / "old", tmp_path / "copy")
    assert await places("copy") == expected | {n: f"{tmp_path}/copy/{p}" for n, p in inside.items()}
    (tmp_path / "old").rename(tmp_path / "new")
    assert await places("new") == expected | {n: f"{tmp_path}/new/{p}" for n, p in inside.items()}
