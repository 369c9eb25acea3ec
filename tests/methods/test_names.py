"""The table of methods, and the names that are found in it."""

import pytest

from tmas_graph.errors import SettingsError
from tmas_graph.methods import METHODS, find
from tmas_graph.prompts import Prompts
from tmas_graph.settings import Settings


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("best-of-m", "did you mean 'best-of-n'"),
        ("tmas[epsilom=1]", "method: there is no 'epsilom' .did you mean 'epsilon'"),
        ("tmas[epsilon=2]", "method: epsilon: it should be less than or equal to 1"),
        ("tmas[epsilon]", "method: 'epsilon' has no value"),
        ("tmas[epsilon=1", "lacks its last bracket"),
        ("tmas[]", "method: '' has no value"),
        ("", "method: there is no ''"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_right(name, said):
    with pytest.raises(SettingsError, match=said):
        find(name)


def test_brackets_take_nested_settings_and_lists_with_commas():
    changes = find("tmas[epsilon=0.5, extra_body={top_k = 20, min_p = 0}, roles.summary.top_p=1]")
    assert changes.changes == {
        "epsilon": 0.5,
        "extra_body": {"top_k": 20, "min_p": 0},
        "roles.summary.top_p": 1,
    }


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("prompt_set", ["standard", "small"])
def test_every_template_of_a_method_is_there(name, prompt_set):
    method = find(name)
    assert set(Prompts(set=prompt_set).hashes(method.prompts)) == set(method.prompts)
    assert method.calls(method.applied(Settings())) > 0


def test_ablations_differ_from_tmas_in_their_settings_alone():
    for name, switched in {
        "tmas-no-experience": {"experience"},
        "tmas-no-guideline": {"guideline"},
        "tmas-neither": {"experience", "guideline"},
    }.items():
        given, method = Settings(), find(name)
        changed = method.applied(given).model_dump()
        assert {n for n, v in given.model_dump().items() if changed[n] != v} == switched
        assert method.is_tmas


def test_keys_stay_where_a_method_changes_settings():
    given = Settings(api_key="k", roles={"summary": {"api_key": "s"}})
    changed = find("tmas[epsilon=1]").applied(given)
    assert (changed.key(), changed.endpoint("summary").key()) == ("k", "s")
