"""The notebooks run from top to bottom, and say what they say, inside Jupyter's own loop."""

import os
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest
from endpoints.reasoner import Reasoner
from endpoints.scripted import server
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def run(name: str, folder: Path) -> list[str]:
    """Execute a copy of a notebook in `folder`; the text of each code cell's outputs."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["\n".join(map(text_of, cell.outputs)) for cell in cells]


def text_of(output: Any) -> str:
    assert output.get("name") != "stderr", output["text"]
    data = output.get("data", {})
    return str(output.get("text") or data.get("text/markdown") or data["text/plain"])


def status() -> str:
    command = ["git", "status", "--porcelain", "--", str(NOTEBOOKS)]
    return subprocess.run(command, cwd=NOTEBOOKS, capture_output=True, text=True, check=True).stdout


def test_the_quickstart_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("TMAS_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    before = status()
    with server(script=Reasoner().short()) as endpoint:
        monkeypatch.setenv("TMAS_BASE_URL", endpoint.base_url)
        _, result, events, drawn, interrupted, resumed, history, fork = run(
            "quickstart.ipynb", tmp_path
        )
        before_fork = endpoint.requests[:48]
    # A summary may have been on its way when the run was left; whatever had come isn't repeated.
    assert {r.role for r in before_fork if r.attempt} <= {"summary"}
    assert "answer      42" in result
    assert "iteration 1:" in events
    assert "solution_explore" in drawn
    assert "rollout" in interrupted
    assert "16" in resumed
    assert "before iteration 1: 2 strategies, 3 experience items" in history
    assert [line.count("explore") for line in fork.splitlines()] == [0, 2]
    assert status() == before


def test_the_stored_outputs_are_whole_and_small() -> None:
    for path in NOTEBOOKS.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
        assert counts == list(range(1, len(counts) + 1)), f"{path.name}: run it from top to bottom"
        assert path.stat().st_size < 100_000
