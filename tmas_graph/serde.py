"""What a checkpoint may bring back: the types of the graph's state, and no others."""

import copy
from typing import Any

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
        return checkpointer.with_allowlist(_NAMES)
    view = copy.copy(checkpointer)
    view.serde = serializer()
    return view
