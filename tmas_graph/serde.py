"""What a checkpoint may bring back: the types of the graph's state, and no others."""

import asyncio
import copy
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Checkpointer

from tmas_graph.state import (
    Attempt,
    Problem,
    Result,
    Rollout,
    Spend,
    Standing,
    Strategy,
    Verification,
)
from tmas_graph.usage import Usage

STORED = (Attempt, Problem, Result, Rollout, Spend, Standing, Strategy, Usage, Verification)
_NAMES = [(kind.__module__, kind.__name__) for kind in STORED]


def serializer() -> JsonPlusSerializer:
    """A serializer that restores what the graph stores; anything else stays plain data."""
    return JsonPlusSerializer(allowed_msgpack_modules=STORED)


def restoring(checkpointer: Checkpointer) -> Checkpointer:
    """As `restored`, where there is a checkpointer; what else LangGraph takes for one stays."""
    return restored(checkpointer) if isinstance(checkpointer, BaseCheckpointSaver) else checkpointer


def restored(checkpointer: BaseCheckpointSaver[Any] | None) -> BaseCheckpointSaver[Any] | None:
    """A view of `checkpointer`, on the same storage, that restores what the graph stores.

    LangGraph's default serializer restores any type and warns of each, or under
    LANGGRAPH_STRICT_MSGPACK none; a serializer that the caller chose is added to.
    """
    if checkpointer is None:
        return None
    if checkpointer.serde is not BaseCheckpointSaver.serde:
        added = checkpointer.with_allowlist(_NAMES)
        ours = getattr(added, "stores_whole_tasks", False)
        return added if ours else _of_whole_tasks(copy.copy(added))
    view = copy.copy(checkpointer)
    view.serde = serializer()
    return _of_whole_tasks(view)


def keeps_calls(checkpointer: Checkpointer) -> bool:
    """Whether what runs on `checkpointer` keeps its model calls beside it, each for itself."""
    return getattr(checkpointer, "keeps_calls", False)


def of_cancelled_task(writes: Sequence[tuple[str, Any]]) -> bool:
    """Whether a task that wrote these was cancelled, so that nothing of it may be stored.

    LangGraph stores what such a task had written so far, and a resume takes that for all of it: a
    node cancelled between its update and its branch would end the run, as nothing follows it.
    """
    return any(isinstance(value, asyncio.CancelledError) for _, value in writes)


def _of_whole_tasks(view: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """Let `view` store nothing of a task that was cancelled."""
    store = view.aput_writes

    async def put_writes(
        config: RunnableConfig, writes: Sequence[tuple[str, Any]], *place: str, **named: str
    ) -> None:
        if not of_cancelled_task(writes):
            await store(config, writes, *place, **named)

    view.aput_writes = put_writes  # type: ignore[method-assign]
    return view
