import pytest

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import SettingsError
from tmas_graph.settings import ALL_ROLES, PRESETS, ROLES, Override, Roles, Settings

A, B = "http://a.example/v1", "http://b.example/v1"
KEY = "s3cret"


def test_the_paper_preset_is_that_of_the_paper() -> None:
    paper = Settings.preset("paper")
    shape = (paper.candidates, paper.verifications, paper.iterations, paper.epsilon)
    assert shape == (8, 8, 20, 0.2)
    assert paper.early_stop is False
    assert paper.mode_draws == "bernoulli"


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs_and_takes_changes(name: str) -> None:
    assert Settings.preset(name, candidates=7).candidates == 7
    assert Settings.preset(name) == Settings.checked(PRESETS[name])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"candidats": 3}, "there is no 'candidats' (did you mean 'candidates'?)"),
        ({"zzz": 3}, "there is no 'zzz'; known here: "),
        ({"roles": {"verifcation": {}}}, "'roles.verifcation' (did you mean 'verification'?)"),
        ({"roles": {"summary": {"modle": "x"}}}, "'roles.summary.modle' (did you mean 'model'?)"),
        ({"candidates": 0}, "candidates: it should be greater than or equal to 1, but 0 was given"),
        ({"verifications": -1}, "verifications: it should be greater than or equal to 1"),
        ({"iterations": 1001}, "it should be less than or equal to 1000, but 1001 was given"),
        ({"epsilon": 1.5}, "epsilon: it should be less than or equal to 1, but 1.5 was given"),
        ({"epsilon": -0.1}, "epsilon: it should be greater than or equal to 0"),
        ({"epsilon": float("nan")}, "epsilon: "),
        ({"candidates": "many"}, "candidates: it should be a valid integer"),
        ({"candidates": 2.5}, "candidates: it should be a valid integer"),
        ({"mode_draws": "dice"}, "it should be 'bernoulli' or 'stratified', but 'dice' was"),
        ({"roles": {"summary": {"top_p": 2}}}, "roles.summary.top_p: it should be less than"),
        ({"roles": 3}, "roles: it should be a valid dictionary"),
        ({"base_url": "localhost:8000"}, "base_url: it is no URL like http://127.0.0.1:8000/v1"),
        ({"base_url": "http://[x"}, "base_url: "),
        ({"base_url": "http://x:99999/v1"}, "base_url: port out of range"),
        ({"base_url": ""}, "base_url: it is no URL"),
        ({"base_url": "http://x/v\x01"}, "base_url: it has a space or a character that can't be"),
        ({"base_url": "http://u:pw@x/v1"}, "base_url: it has a user or password in it, which"),
        ({"roles": {"summary": {"base_url": "x"}}}, "roles.summary.base_url: it is no URL"),
    ],
)
def test_a_wrong_setting_is_one_line_that_says_what_to_do(
    values: dict[str, object], said: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.checked(values)
    message = str(caught.value)
    assert said.lower() in message.lower()
    assert message.startswith("settings: ")
    assert message.endswith(("Change it.", "`tmas settings` lists them all."))
    assert "\n" not in message


def test_an_unknown_preset_is_said_with_a_near_one() -> None:
    with pytest.raises(SettingsError, match=r"no 'papper' \(did you mean 'paper'\?\)\. The pres"):
        Settings.preset("papper")


def test_a_wrong_key_is_not_repeated() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.checked({"api_key": 12345678})
    assert "12345678" not in str(caught.value)


def test_a_role_differs_only_in_what_it_sets() -> None:
    settings = Settings.checked(
        {
            "base_url": A,
            "model": "m",
            "temperature": 0.3,
            "roles": {"verification": {"model": "v", "temperature": 0}},
        }
    )
    shared = Endpoint(base_url=A, model="m", temperature=0.3)
    assert settings.endpoint("solution") == shared
    assert settings.endpoint("verification") == shared.model_copy(
        update={"model": "v", "temperature": 0.0}
    )


@pytest.mark.parametrize(
    ("shared", "own", "key"),
    [
        ({}, {}, KEY),
        ({}, {"base_url": A}, KEY),
        ({}, {"model": "x"}, KEY),
        ({}, {"base_url": B}, ""),
        ({"base_url": None}, {"base_url": B}, ""),
        ({}, {"base_url": B, "api_key": "own"}, "own"),
        ({}, {"api_key": "own"}, "own"),
    ],
)
@pytest.mark.parametrize("role", ALL_ROLES)
def test_a_key_never_goes_to_another_server_than_its_own(
    role: str, shared: dict[str, object], own: dict[str, object], key: str
) -> None:
    settings = Settings.checked({"base_url": A, "api_key": KEY, **shared, "roles": {role: own}})
    for other in ALL_ROLES:
        assert settings.endpoint(other).key() == (key if other == role else KEY)


def test_keys_are_neither_dumped_nor_shown() -> None:
    settings = Settings.checked(
        {"base_url": A, "api_key": KEY, "roles": {"summary": {"base_url": B, "api_key": KEY}}}
    )
    shown = [
        repr(settings),
        str(settings),
        repr(settings.model_dump()),
        settings.model_dump_json(),
        repr(settings.roles),
        repr(settings.endpoint("summary")),
        repr(Settings.model_json_schema()),
    ]
    assert settings.endpoint("summary").key() == KEY
    assert [text for text in shown if KEY in text] == []
    assert "api_key" not in settings.model_dump()
    assert "api_key" not in settings.model_dump()["roles"]["summary"]


def test_an_override_has_the_fields_of_an_endpoint_and_roles_are_the_roles() -> None:
    of_all = [name for name in Endpoint.model_fields if name not in ("prices", "telemetry")]
    assert list(Override.model_fields) == of_all
    assert all(field.default is None for field in Override.model_fields.values())
    assert tuple(Roles.model_fields) == ALL_ROLES == (*ROLES, "judge")


def test_the_judge_is_off_and_greedy_unless_told_otherwise() -> None:
    settings = Settings(base_url=A, temperature=0.6)
    assert settings.roles_in_use == ROLES
    assert settings.endpoint("judge").temperature == 0.0
    own = Settings.checked({"judge": True, "roles": {"judge": {"temperature": 0.3}}})
    assert own.endpoint("judge").temperature == 0.3
    assert own.roles_in_use == ALL_ROLES


def test_every_setting_has_a_help_text() -> None:
    for model in (Endpoint, Override, Roles, Settings):
        assert [n for n, f in model.model_fields.items() if not f.description] == []


def test_settings_survive_json() -> None:
    settings = Settings.preset("paper", extra_body={"top_k": 20}, base_url=A)
    assert Settings.checked(settings.model_dump(mode="json")) == settings


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().candidates = 3  # type: ignore[misc]


def test_a_password_in_a_url_is_not_repeated() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.checked({"base_url": "http://u:hidden@x/v1"})
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"roles": {"summary": {"concurrency": 8}}},
            "settings: roles.summary.concurrency is 8, but 64 for all, at the same server. Set "
            "concurrency once for all, or give the role a base_url of its own.",
        ),
        (
            {"base_url": A, "roles": {"judge": {"base_url": A, "tokens_per_minute": 5}}},
            "5, but None",
        ),
        (
            {
                "base_url": A,
                "roles": {
                    "solution": {"base_url": B, "requests_per_minute": 5},
                    "summary": {"base_url": B, "requests_per_minute": 6},
                },
            },
            "roles.summary.requests_per_minute is 6, but 5 for solution",
        ),
    ],
)
def test_roles_at_one_server_have_one_limit(values: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.checked(values)
    assert said in str(caught.value)


def test_a_role_with_a_server_or_a_key_of_its_own_has_limits_of_its_own() -> None:
    own = {"base_url": B, "concurrency": 8, "requests_per_minute": 60}
    keyed = {"api_key": KEY, "concurrency": 9}
    given = Settings.checked({"base_url": A, "roles": {"summary": own, "judge": keyed}})
    assert given.endpoint("summary").requests_per_minute == 60
    assert given.endpoint("judge").concurrency == 9
    assert given.endpoint("solution").concurrency == 64
    assert Settings.checked({"concurrency": 5, "roles": {"summary": {"concurrency": 5}}})


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        ({"a.b/c": {"promt": 1}}, "there is no 'prices.a.b/c.promt' (did you mean 'prompt'?)"),
        ({"a.b/c": {"prompt": -1}}, "prices.a.b/c.prompt: it should be greater than or equal to 0"),
    ],
)
def test_a_wrong_price_is_named(prices: object, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.checked({"prices": prices}, {"prices": "tmas.toml"})
    assert str(caught.value).startswith("tmas.toml: ")
    assert said in str(caught.value)
