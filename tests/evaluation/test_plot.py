import builtins
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from runs_made import folder, rows

from tmas_graph.errors import MissingExtra, SettingsError
from tmas_graph.evaluation import plot
from tmas_graph.evaluation.comparing import Comparison, compare
from tmas_graph.evaluation.uniting import load, unite

SMALL = Path(__file__).parents[1] / "cases" / "runs" / "small"


@pytest.fixture(scope="module")
def small() -> Comparison:
    return compare(unite([load(SMALL)]))


def test_every_method_has_a_line_by_iterations_and_by_tokens(small: Comparison) -> None:
    lines = {line.method: line for line in plot.lines_of(small)}
    assert list(lines) == ["self_consistency", "tmas", "self_refine"]
    assert [x for x, _ in lines["tmas"].iterations] == [0, 1, 2]
    assert [x for x, _ in lines["tmas"].tokens] == [2800, 4480, 6160]
    assert [x for x, _ in lines["self_consistency"].tokens] == [100, 200, 400, 800]
    assert [x for x, _ in lines["self_refine"].tokens] == [100, 200, 300]


def test_no_two_of_many_lines_are_drawn_alike() -> None:
    styles = [tuple(plot.style(place).values()) for place in range(100)]
    assert len(set(styles)) == 100


def test_a_png_is_drawn(small: Comparison, tmp_path: Path) -> None:
    plot.draw(small, tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert (width, height) == (1650, 675)


def test_an_svg_is_the_same_each_time(small: Comparison, tmp_path: Path) -> None:
    for name in ("a.svg", "b.SVG"):
        plot.draw(small, tmp_path / name)
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.SVG").read_bytes()


def test_names_with_dollars_are_no_formulas(tmp_path: Path) -> None:
    made = [*rows("a$x$", {"p": ["+", "a"]}), *rows("b$\\frac", {"p": ["a", "+"]})]
    comparison = compare(unite([load(folder(tmp_path / "run", made))]))
    plot.draw(comparison, tmp_path / "a.svg")


def test_another_ending_is_refused(small: Comparison, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"a\.pdf ends in '\.pdf'\. Use \.png or \.svg"):
        plot.draw(small, tmp_path / "a.pdf")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r'pip install "tmas-graph\[plot\]"'):
        plot.check(Path("a.png"))
