"""The how-to pages hold true: their Python runs, block by block, as it stands."""

import ast
import inspect
import re
import shutil
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from endpoints.reasoner import Reasoner
from endpoints.scripted import server
from made import made

from tmas_graph.evaluation.run_rows import GradedAttempt, Row, Selected
from tmas_graph.memory.transfer import FIELDS
from tmas_graph.methods import METHODS
from tmas_graph.usage import Usage

PAGES = Path(__file__).parents[1] / "docs" / "how-to"


def blocks_of(page: str) -> list[str]:
    """The Python of a page, each block on the line where it stands, for tracebacks."""
    text = (PAGES / page).read_text()
    return [
        "\n" * text[: found.start(1)].count("\n") + found[1]
        for found in re.finditer(r"```python\n(.*?)```", text, re.DOTALL)
        if "not run in the tests" not in found[1]
    ]


def compiled(block: str, page: str) -> CodeType:
    return compile(block, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_the_python_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of("python.md")
    assert len(blocks) == 8
    names: dict[str, Any] = {"__name__": "how_to"}
    with server(script=Reasoner(chance=1.0).short()) as endpoint:
        monkeypatch.setenv("TMAS_BASE_URL", endpoint.base_url)
        for block in blocks:
            result = eval(compiled(block, "python.md"), names)
            if inspect.iscoroutine(result):
                await result
    out = capsys.readouterr().out
    assert "The answer is 42." in out
    assert re.search(r"^E1 \w+ open \S", out, re.MULTILINE)


def test_a_method_is_added_in_ten_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added, used = blocks_of("methods.md")
    assert len([line for line in added.splitlines() if line.strip()]) == 10
    (tmp_path / "my_methods.py").write_text(added)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    with server(script=Reasoner(chance=1.0).short()) as endpoint:
        monkeypatch.setenv("TMAS_BASE_URL", endpoint.base_url)
        exec(compile(used, "methods.md", "exec"), {})
        assert {r.body["temperature"] for r in endpoint.requests} == {1.0}
    assert capsys.readouterr().out == "42 of 2 candidates, 4 calls\n"
    del sys.modules["my_methods"]


def test_the_methods_page_names_them_all() -> None:
    text = (PAGES / "methods.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` \| ", text, re.MULTILINE) == list(METHODS)


def test_the_studio_page_is_valid_python() -> None:
    assert [compiled(block, "studio.md") for block in blocks_of("studio.md")]


def test_the_calls_page_is_valid_python() -> None:
    assert [compiled(block, "calls.md") for block in blocks_of("calls.md")]


def test_the_calls_page_names_every_field_of_a_call() -> None:
    text = (PAGES / "calls.md").read_text()
    table = re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE)
    call = made().plain()
    assert table == list(call)
    parts = (call["place"], *call["sendings"], *call["replies"], Usage.__dataclass_fields__)
    assert [name for part in parts for name in part if f"`{name}`" not in text] == []


def test_the_memory_page_is_valid_python_and_names_every_field_of_an_item() -> None:
    assert [compiled(block, "memory.md") for block in blocks_of("memory.md")]
    text = (PAGES / "memory.md").read_text()
    assert [name for name in FIELDS if f"`{name}`" not in text] == []


def test_the_compare_page_reads_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(PAGES.parents[1] / "tests/cases/runs/small", tmp_path / "runs/a")
    monkeypatch.chdir(tmp_path)
    [block] = blocks_of("compare.md")
    exec(compiled(block, "compare.md"), {})
    assert capsys.readouterr().out.splitlines()[0] == "p1 self_consistency 0 correct 800"


def test_the_inspect_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    [block] = blocks_of("inspect.md")
    with server(script=Reasoner(right="18", chance=1.0).short()) as endpoint:
        monkeypatch.setenv("LOCAL_BASE_URL", endpoint.base_url)
        exec(compiled(block, "inspect.md"), {})
    assert capsys.readouterr().out.splitlines()[-1] == "success 1.0"


def test_the_inspect_page_names_every_scorer() -> None:
    from tmas_graph.inspecting import registry  # noqa: PLC0415

    text = (PAGES / "inspect.md").read_text()
    for name in ("grader", "candidates", "method", "problems"):
        assert hasattr(registry, name)
        assert f"`tmas_graph/{name}" in text


def test_the_compare_page_names_every_field_of_a_row() -> None:
    text = (PAGES / "compare.md").read_text()
    table = re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE)
    assert table == list(Row.__dataclass_fields__)
    parts = (*GradedAttempt.__dataclass_fields__, *Selected.__dataclass_fields__)
    assert [n for n in parts if f"`{n.replace('answer_class', 'class')}`" not in text] == []
