import subprocess
import sys

import pytest

import tmas_graph
from tmas_graph import errors


def test_the_public_names_are_these() -> None:
    assert tmas_graph.__all__ == [
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
    assert [name for name in tmas_graph.__all__ if not hasattr(tmas_graph, name)] == []
    assert set(tmas_graph.__all__) <= set(dir(tmas_graph))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        tmas_graph.slove  # noqa: B018


@pytest.mark.parametrize(
    "module",
    [
        "tmas_graph",
        "tmas_graph.cli",
        "tmas_graph.configuration",
        "tmas_graph.grpo",
    ],
)
def test_what_is_heavy_is_not_loaded_by_an_import(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"langgraph", "langchain_core", "chromadb", "torch", "openai", "sklearn", "jinja2"}
    assert heavy & set(done.stdout.split()) == set()


def test_every_error_is_ours_and_of_a_standard_kind() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.TmasError)
    ]
    standard = (ValueError, ConnectionError, RuntimeError, LookupError, OSError, ImportError)
    assert len(kinds) == 17
    assert [k for k in kinds if k is not errors.TmasError and not issubclass(k, standard)] == []
