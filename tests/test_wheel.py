"""The wheel, built, installed elsewhere and run there: it needs nothing of the checkout."""

import email
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

import pytest
from endpoints.reasoner import Reasoner
from endpoints.scripted import server

REPOSITORY = Path(__file__).parents[1]
RENDER = """
import tmas_graph
from tmas_graph.prompts import Prompts
print(tmas_graph.__file__)
print(Prompts().render("solution_initial", problem="What is 6 · 7?", kind="answer")[1]["content"])
"""


@dataclass(frozen=True)
class Installed:
    """A folder with the installed wheel, and an empty one to work in."""

    target: Path
    elsewhere: Path

    def run(self, *command: str | Path, settings: Mapping[str, str] | None = None) -> str:
        """What `command` prints, where only the installed wheel is found."""
        environment = {n: v for n, v in os.environ.items() if not n.startswith("TMAS_")}
        environment |= {"PYTHONPATH": str(self.target), **(settings or {})}
        done = subprocess.run(
            [str(part) for part in command],
            cwd=self.elsewhere,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, "."]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, timeout=120)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    (folder / "elsewhere").mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    command = [*pip, "--target", folder / "target", wheel]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return Installed(folder / "target", folder / "elsewhere")


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def test_it_holds_the_package_the_prompts_and_the_licence_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    prompts = {f"tmas_graph/_prompts/{path.name}" for path in REPOSITORY.glob("prompts/*.md")}
    assert len(prompts) > 7
    assert prompts | {"tmas_graph/py.typed", "tmas_graph/cli/__init__.py"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    tops = {name.partition("/")[0].partition("-")[0] for name in names}
    assert tops == {"tmas_graph"}
    assert not [name for name in names if "__pycache__" in name or "test" in name]


def test_its_long_description_is_the_readme(wheel: Path) -> None:
    metadata = metadata_of(wheel)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["License-Expression"] == "Apache-2.0"
    body = metadata.get_payload(decode=True)
    assert isinstance(body, bytes)
    assert body.decode().strip() == (REPOSITORY / "README.md").read_text().strip()


def test_it_finds_its_prompts(installed: Installed) -> None:
    place, _, prompt = installed.run(sys.executable, "-c", RENDER).partition("\n")
    assert Path(place).is_relative_to(installed.target)
    assert "What is 6 · 7?" in prompt


def test_it_solves_a_problem_from_the_command_line(installed: Installed) -> None:
    tmas = installed.target / "bin" / "tmas"
    assert "solve" in installed.run(sys.executable, tmas, "--help")
    with server(script=Reasoner(chance=1.0).short()) as endpoint:
        settings = {"TMAS_BASE_URL": endpoint.base_url, "TMAS_HOME": "home", "TMAS_CANDIDATES": "2"}
        solve = [sys.executable, tmas, "solve", "What is 6 · 7?", "--iterations", "1", "--json"]
        printed = installed.run(*solve, settings=settings)
    assert json.loads(printed)["answer"] == "42"


def test_it_ships_problems_and_grades_their_answers(installed: Installed) -> None:
    tmas = installed.target / "bin" / "tmas"
    problem = [sys.executable, tmas, "problems", "gsm8k", "--id", "test-0001", "--json"]
    assert json.loads(installed.run(*problem))["answer"] == "18"
    graded = installed.run(sys.executable, tmas, "grade", r"\boxed{\sqrt{324}}", "18", "--json")
    assert json.loads(graded)["verdict"] == "correct"
    data = installed.target / "tmas_graph" / "evaluation" / "data"
    assert "MIT License" in (data / "README.md").read_text(encoding="utf-8")
