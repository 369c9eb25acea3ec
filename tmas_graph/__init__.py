"""TMAS: test-time scaling by five cooperating agents, as a LangGraph workflow."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tmas_graph.configuration import load_settings
    from tmas_graph.graph import build_graph
    from tmas_graph.models.budget import Budget
    from tmas_graph.running import asolve, solve
    from tmas_graph.settings import Settings
    from tmas_graph.state import Problem, Result, Rollout

__version__ = "0.1.0"
__all__ = [
    "Budget",
    "Problem",
    "Result",
    "Rollout",
    "Settings",
    "asolve",
    "build_graph",
    "load_settings",
    "solve",
]

_HOME = {
    "Budget": "models.budget",
    "Problem": "state",
    "Result": "state",
    "Rollout": "state",
    "Settings": "settings",
    "asolve": "running",
    "build_graph": "graph",
    "load_settings": "configuration",
    "solve": "running",
}


def __getattr__(name: str) -> object:
    # Lazy, so that `tmas --help` and the trainer load neither LangGraph nor Chroma.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
