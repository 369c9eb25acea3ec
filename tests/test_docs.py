"""What README and docs say is what the program does."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """docs/build.py, as a module."""
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_generated_parts_are_current(build: ModuleType) -> None:
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, content in build.generated().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != content
    ]
    assert not stale, "run `make docs`"


def test_the_figure_shows_every_agent(build: ModuleType) -> None:
    figure = build.figure()
    for node in ("plan", "solution_initial", "solution_exploit", "solution_explore"):
        assert node in figure
    for node in ("verification", "summary", "experience", "guideline", "decide"):
        assert node in figure


def test_links_lead_somewhere() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    missing = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if not link.startswith("http") and not (page.parent / link).exists()
    ]
    assert not missing


def test_the_costs_in_the_readme_are_those_of_the_presets() -> None:
    from tmas_graph.settings import PRESETS, Settings  # noqa: PLC0415

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in PRESETS:
        s = Settings.preset(name)
        calls = s.candidates * (1 + s.verifications) + s.candidates + 2
        [row] = [line for line in readme.splitlines() if line.startswith(f"| `{name}`")]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[1:4] == [str(s.candidates), str(s.verifications), str(s.iterations)]
        assert cells[5] == ("on" if s.early_stop else "off")
        total = f"{calls * s.iterations:,}".replace(",", " ")
        assert cells[6] == f"{calls} an iteration, {total} in all"
