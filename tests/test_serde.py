"""Whatever checkpointer a caller brings, the state's types survive it, strictly or not."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tmas_graph import Problem, Result, Rollout, Settings, build_graph
from tmas_graph.models import pool
from tmas_graph.progress import attempts
from tmas_graph.serde import STORED, restoring, serializer
from tmas_graph.state import (
    Spend,
    Strategy,
    Verification,
)
from tmas_graph.stored import Stored
from tmas_graph.threads import open_threads
from tmas_graph.usage import Usage

CONFIG: Any = {"configurable": {"thread_id": "one"}}


@dataclass(frozen=True)
class Foreign:
    """A type of the caller's own, for a serializer of the caller's own."""

    value: int


@asynccontextmanager
async def saver_of(kind: str) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    if kind == "memory":
        yield InMemorySaver()
    else:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            yield saver


async def run_and_fork(kind: str, base_url: str) -> None:
    """Run two iterations, look at all that was stored, and go on from the middle."""
    settings = Settings(
        base_url=base_url, candidates=2, verifications=2, iterations=2, epsilon=0, early_stop=False
    )
    async with saver_of(kind) as saver:
        await build_graph(saver).ainvoke({"problem": "6·7?"}, CONFIG, context=settings)
        graph = build_graph(saver)  # which finds its thread in what it was given
        states = [state async for state in graph.aget_state_history(CONFIG)]
        check_types(states[0].values)
        [middle] = [s for s in states if s.next == ("plan",) and s.values.get("iteration") == 1]
        explore = settings.model_copy(update={"epsilon": 1.0})
        forked = await graph.ainvoke(None, middle.config, context=explore)
        assert isinstance(forked["result"], Result)
        modes = [a.mode for a in attempts((await graph.aget_state(CONFIG)).values)]
        assert modes == ["initial", "initial", "explore", "explore"]
    await pool.close()


def check_types(values: dict[str, Any]) -> None:
    assert isinstance(values["problem"], Problem)
    assert [type(r) for r in values["rollouts"]] == [Rollout] * 2
    verifications = [v for r in values["rollouts"] for v in r.verifications]
    assert [type(v) for v in verifications] == [Verification] * 4
    assert all(isinstance(r.verifications, tuple) for r in values["rollouts"])
    assert [a.outcome for a in attempts(values)] == ["finished"] * 4
    assert {type(s) for s in values["strategies"]} == {Strategy}
    assert all(isinstance(pair, tuple) for s in values["strategies"] for pair in s.tried)
    assert all(isinstance(s.tried, tuple) and s.tried for s in values["strategies"])
    assert isinstance(values["leader"], Rollout)
    assert {type(u) for r in values["rollouts"] for u in r.usage.values()} == {Usage}
    assert len(values["spend"]) == 2 * 5
    assert isinstance(values["result"], Result)
    assert isinstance(values["result"].usage, Usage)
    assert isinstance(values["result"].spend, tuple)
    assert {type(s) for s in values["result"].spend} == {Spend}


@pytest.mark.parametrize("strict", ["false", "true"])
def test_types_survive_any_checkpointer_without_a_warning(strict: str) -> None:
    with server(script=Reasoner().short()) as scripted:
        done = subprocess.run(
            [sys.executable, "-W", "error", __file__, scripted.base_url],
            env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": strict},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_serializer_of_the_callers_own_is_added_to() -> None:
    own = JsonPlusSerializer(allowed_msgpack_modules=[(Foreign.__module__, "Foreign")])
    saver = InMemorySaver(serde=own)
    view = restoring(saver)
    assert isinstance(view, InMemorySaver)
    for value in (Problem("6·7?"), Foreign(1)):
        assert view.serde.loads_typed(view.serde.dumps_typed(value)) == value
    assert saver.serde is own
    assert view.storage is saver.storage


def test_our_own_saver_has_one_queue_of_writes(tmp_path: Path) -> None:
    async def views() -> tuple[Any, Any]:
        async with open_threads(tmp_path) as store:
            return store.saver, restoring(store.saver)

    saver, view = asyncio.run(views())
    assert view is saver


def test_a_type_that_the_graph_does_not_store_is_not_restored() -> None:
    view = restoring(InMemorySaver())
    assert isinstance(view, InMemorySaver)
    assert view.serde.loads_typed(view.serde.dumps_typed(Foreign(1))) == {"value": 1}


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)  # to stderr, where the test finds them
    for kind in ("memory", "sqlite"):
        asyncio.run(run_and_fork(kind, sys.argv[1]))
else:
    from endpoints.reasoner import Reasoner
    from endpoints.scripted import server


@pytest.mark.parametrize("one", [Verification("a", 0.5), Usage(1, 2, 3), Strategy("n", "e")])
def test_what_says_its_fields_is_written_as_any_dataclass_is(one: Any) -> None:
    names = [field.name for field in fields(one)]
    twin = make_dataclass(type(one).__name__, names)
    twin.__module__ = type(one).__module__
    same = twin(*(getattr(one, name) for name in names))
    assert not hasattr(same, "_asdict")
    assert serializer().dumps_typed(one) == serializer().dumps_typed(same)


def test_all_that_is_stored_says_its_fields() -> None:
    assert all(issubclass(kind, Stored) for kind in STORED)
