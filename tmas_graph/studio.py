"""The graph for LangGraph Studio and `langgraph dev`, with this place's settings as defaults.

The server brings its own checkpointer, so the graph is compiled without one.
"""

from typing import Any

from pydantic import create_model

from tmas_graph.configuration import load_settings
from tmas_graph.graph import build_graph
from tmas_graph.settings import Settings


def settings_here() -> type[Settings]:
    """Settings whose defaults are what tmas.toml and the environment say; Studio shows them.

    The key is a default like the others, but is neither shown nor stored.
    """
    loaded = load_settings()
    fields: dict[str, Any] = {
        name: (field.annotation, field._copy()) for name, field in Settings.model_fields.items()
    }
    for name, (_, field) in fields.items():
        field.default, field.default_factory = getattr(loaded, name), None
    return create_model("Settings", __base__=Settings, **fields)


graph = build_graph(context_schema=settings_here())
