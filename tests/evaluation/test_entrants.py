import pytest
from pydantic import SecretStr

from tmas_graph import Settings
from tmas_graph.errors import SettingsError
from tmas_graph.evaluation.entrants import entrants, labels_in

BASE = Settings(base_url="http://127.0.0.1:1/v1", api_key=SecretStr("s3cret"))


def test_labels_are_split_at_commas_outside_of_brackets():
    given = ["tmas,best-of-n[verifications=1, seed=2]", " tmas[epsilon=0.5] ,"]
    assert labels_in(given) == ["tmas", "best-of-n[verifications=1,seed=2]", "tmas[epsilon=0.5]"]


def test_settings_in_brackets_are_the_methods_own():
    plain, changed = entrants(["tmas", "tmas[epsilon=0.5,candidates=2]"], BASE)
    assert (plain.settings.epsilon, plain.settings.candidates) == (0.2, 4)
    assert (changed.settings.epsilon, changed.settings.candidates) == (0.5, 2)
    assert changed.calls < plain.calls
    assert changed.settings.key() == "s3cret"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["tmsa"], "there is no 'tmsa'.*'tmas'"),
        (["tmas", "tmas"], "tmas is named twice"),
        (["tmas[epsilon=2]"], "epsilon"),
        (["tmas[epsilom=1]"], "epsilom.*epsilon"),
        ([], "no method is named"),
    ],
)
def test_what_is_wrong_is_said(labels: list[str], message: str):
    with pytest.raises(SettingsError, match=message):
        entrants(labels, BASE)
