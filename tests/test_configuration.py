from pathlib import Path

import pytest

from tmas_graph.configuration import load, load_settings, parse_assignment
from tmas_graph.errors import SettingsError

URL = "http://a.example/v1"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_later_places_win_and_each_value_says_where_it_came_from(here: Path) -> None:
    (here / "tmas.toml").write_text(
        'preset = "paper"\ncandidates = 5\nseed = 5\ntop_p = 0.5\n'
        '[roles.verification]\nmodel = "v"\n[extra_body]\ntop_k = 20\n'
    )
    loaded = load(
        environ={
            "TMAS_SEED": "6",
            "TMAS_TOP_P": "0.6",
            "TMAS_ROLES__SUMMARY__MAX_TOKENS": "7",
            "OTHER": "x",
        },
        changes={"top_p": 0.7, "roles.summary.model": "s"},
    )
    settings, origins = loaded.settings, loaded.origins
    assert loaded.preset == "paper"
    expected = {
        "temperature": (0.6, "default"),
        "iterations": (20, "preset paper"),
        "candidates": (5, "tmas.toml"),
        "extra_body": ({"top_k": 20}, "tmas.toml"),
        "seed": (6, "TMAS_SEED"),
        "top_p": (0.7, "command line"),
    }
    assert {n: (getattr(settings, n), origins[n]) for n in expected} == expected
    assert settings.roles.verification.model == "v"
    assert (settings.roles.summary.max_tokens, settings.roles.summary.model) == (7, "s")
    assert origins["roles.summary.max_tokens"] == "TMAS_ROLES__SUMMARY__MAX_TOKENS"
    assert origins["roles.summary.model"] == "command line"


def test_the_preset_is_local_until_an_endpoint_is_set(here: Path) -> None:
    assert load(environ={}).preset == "local"
    assert load(environ={"TMAS_BASE_URL": URL}).preset == "fast"
    assert load(environ={}, changes={"base_url": URL}).preset == "fast"
    (here / "tmas.toml").write_text(f'base_url = "{URL}"\n')
    assert load(environ={}).preset == "fast"
    assert load(environ={"TMAS_PRESET": "paper"}).preset == "paper"
    assert load(environ={"TMAS_PRESET": "paper"}, preset="local").preset == "local"


def test_another_file_can_be_named(here: Path) -> None:
    (here / "tmas.toml").write_text("candidates = 2\n")
    (here / "other.toml").write_text("candidates = 3\n")
    assert load(environ={}).settings.candidates == 2
    assert load(environ={"TMAS_SETTINGS": "other.toml"}).settings.candidates == 3
    assert load("other.toml", environ={"TMAS_SETTINGS": "gone"}).settings.candidates == 3


def test_load_settings_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMAS_CANDIDATES", "9")
    assert load_settings().candidates == 9
    assert load_settings(candidates=8, preset="paper").candidates == 8


def test_variables_that_are_no_settings_are_left_alone() -> None:
    names = ("TMAS_DATA", "TMAS_HOME")
    assert load(environ=dict.fromkeys(names, "/x")) == load(environ={})


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("TMAS_CANDIDATS", "3", "no setting for TMAS_CANDIDATS (did you mean 'TMAS_CANDIDATES'?)"),
        ("TMAS_HOM", "x", "did you mean 'TMAS_HOME'?"),
        ("TMAS_CANDIDATES", "many", "TMAS_CANDIDATES: candidates: it should be a valid integer"),
        ("TMAS_EPSILON", "2", "TMAS_EPSILON: epsilon: it should be less than or equal to 1"),
        ("TMAS_EXTRA_BODY", "{", "TMAS_EXTRA_BODY: '{' is no JSON. Give an object."),
        ("TMAS_EXTRA_BODY", "3", "TMAS_EXTRA_BODY: extra_body: it should be a valid dictionary"),
        ("TMAS_PRESET", "papr", "preset: there is no 'papr' (did you mean 'paper'?)"),
        ("TMAS_SETTINGS", "gone.toml", "gone.toml: can't be read (No such file or directory)"),
    ],
)
def test_a_wrong_variable_is_named(variable: str, value: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(environ={variable: value})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"candidates = \n", "tmas.toml: is no valid TOML: Invalid value (at line 1, column 14)"),
        (b"\xff\xfe", "tmas.toml: is no valid TOML: "),
        (b"candidats = 3\n", "tmas.toml: there is no 'candidats' (did you mean 'candidates'?)"),
        (b"candidates = 0\n", "tmas.toml: candidates: it should be greater than or equal to 1"),
        (b"[roles.sumary]\nmodel = 'x'\n", "there is no 'roles.sumary' (did you mean 'summary'?)"),
        (b"preset = 5\n", "preset: there is no 5"),
        (b"preset = []\n", "preset: there is no []"),
        (b"roles = 3\n", "tmas.toml: roles: it should be a valid dictionary"),
        (b"[candidates]\nx = 3\n", "'candidates' has no parts, but 'candidates.x' was given."),
    ],
)
def test_a_wrong_file_is_named(here: Path, raw: bytes, said: str) -> None:
    (here / "tmas.toml").write_bytes(raw)
    with pytest.raises(SettingsError) as caught:
        load(environ={})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"candidates": 0}, "command line: candidates: it should be greater"),
        ({"candidates.x": 3, "candidates": 2}, "candidates"),
        ({"": 3}, "there is no ''"),
        ({"roles.summary": 3}, "command line: roles.summary: it should be a valid dictionary"),
    ],
)
def test_a_wrong_change_is_named(changes: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(environ={}, changes=changes)
    assert said in str(caught.value)


def test_a_whole_role_can_be_given_at_once() -> None:
    loaded = load(environ={}, changes={"roles": {"summary": {"model": "s"}}})
    assert loaded.settings.roles.summary.model == "s"
    assert loaded.origins["roles.summary.model"] == "command line"
    assert "roles" not in loaded.origins


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("candidates=3", "candidates", 3),
        (" model = qwen ", "model", "qwen"),
        ('model="3"', "model", "3"),
        ("early_stop=false", "early_stop", False),
        ("extra_body={top_k = 20}", "extra_body", {"top_k": 20}),
        ("model=a=b", "model", "a=b"),
        ("model=", "model", ""),
    ],
)
def test_an_assignment_is_read_as_toml_or_as_text(text: str, name: str, value: object) -> None:
    assert parse_assignment(text) == (name, value)


@pytest.mark.parametrize("text", ["candidates", "=3", ""])
def test_an_assignment_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="Write name=value"):
        parse_assignment(text)


PRICES = {"Qwen/Qwen3-4B.x": {"prompt": 0.1, "completion": 0.4, "cached": None}}


def test_prices_are_by_model_whose_name_may_hold_dots_and_slashes(here: Path) -> None:
    in_file = '[prices."Qwen/Qwen3-4B.x"]\nprompt = 0.1\ncompletion = 0.4\n'
    (here / "tmas.toml").write_text(in_file)
    assert load(environ={}).settings.model_dump()["prices"] == PRICES
    assert load(environ={}).origins["prices"] == "tmas.toml"
    (here / "tmas.toml").unlink()
    text = '{"Qwen/Qwen3-4B.x": {"prompt": 0.1, "completion": 0.4}}'
    assert load(environ={"TMAS_PRICES": text}).settings.model_dump()["prices"] == PRICES
    assigned = parse_assignment('prices={"Qwen/Qwen3-4B.x"={prompt=0.1, completion=0.4}}')
    changed = load(environ={}, changes=dict([assigned])).settings
    assert changed.model_dump()["prices"] == PRICES
