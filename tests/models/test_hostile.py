"""Servers that say absurd things, or repeat the key that they were asked with."""

import json
from typing import Any

import pytest
from clients import client_of
from endpoints.fault import Fault
from endpoints.protocol import Failure
from endpoints.scripted import server

from tmas_graph import Settings
from tmas_graph.errors import CallError, SettingsError
from tmas_graph.models.budget import Budget
from tmas_graph.models.calls import Call
from tmas_graph.models.making import Ask
from tmas_graph.prompts import Prompt

KEY = 'sk-Ab3"\\q z<~Zlongsecret99'
ASK = Prompt([{"role": "user", "content": "What is 6·7?"}])


def changed(**fields: Any) -> Fault:
    """A fault that changes the body of an answer."""
    return Fault(name="changed", body=lambda body: body | fields)


@pytest.mark.anyio
@pytest.mark.parametrize("count", [10**400, 2**63, 2**62, -1, "many", float("inf")])
async def test_an_absurd_count_of_tokens_is_none(count: Any) -> None:
    said = changed(usage={"prompt_tokens": count, "completion_tokens": count})
    async with server(fault=lambda r: said) as at, client_of(at, stream=False) as model:
        call = await model.ask(ASK, Ask())
    assert 0 < call.usage.tokens < 10_000
    assert call.usage.estimated_tokens == call.usage.tokens


@pytest.mark.anyio
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    "failure",
    [
        Failure(status=400, message=f"the key {KEY} is wrong"),
        Failure(status=400, message="x" * 290 + KEY),
        Failure(status=400, body=f"no: {json.dumps(KEY)}"),
        Failure(status=401, message=KEY),
        Failure(status=500, message=KEY),
    ],
)
async def test_a_key_that_the_server_repeats_is_nowhere(failure: Failure, streamed: bool) -> None:
    noted: list[Call] = []
    async with (
        server(fail=lambda r: failure) as at,
        client_of(at, api_key=KEY, attempts=1, stream=streamed) as model,
    ):
        with pytest.raises(CallError) as caught:
            await model.ask(ASK, Ask(), noted.append)
    for told in (str(caught.value), repr(noted)):
        for part in (KEY, json.dumps(KEY)[1:-1], "sk-Ab3"):
            assert part not in told


@pytest.mark.anyio
async def test_a_key_in_the_names_that_a_server_gives_is_nowhere() -> None:
    def body(said: dict[str, Any]) -> dict[str, Any]:
        [choice] = said["choices"]
        return said | {"model": KEY, "choices": [choice | {"finish_reason": KEY}]}

    odd = Fault(name="odd", body=body)
    async with server(fault=lambda r: odd) as at, client_of(at, api_key=KEY, stream=False) as model:
        call = await model.ask(ASK, Ask())
    assert KEY not in repr(call)


@pytest.mark.anyio
async def test_a_key_among_the_models_that_are_served_is_not_shown() -> None:
    async with server(models=(KEY, "b")) as at, client_of(at, api_key=KEY) as model:
        with pytest.raises(CallError) as caught:
            await model.check()
    assert "longsecret" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"prices": {"*": {"prompt": float("inf")}}},
        {"prices": {"*": {"prompt": 1e308}}},
        {"extra_body": {"a": float("nan")}},
        {"extra_body": {"a": object()}},
        {"tokens_per_minute": 10**400},
        {"requests_per_minute": 10**400},
        {"max_calls": 10**400},
        {"timeout_seconds": float("inf")},
    ],
)
def test_settings_that_no_run_could_use_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(given))):
        Settings.checked(given)


def test_a_slash_at_its_end_makes_no_other_server() -> None:
    roles = {"verification": {"base_url": "http://h/v1/"}}
    settings = Settings.checked({"base_url": "http://h/v1", "api_key": "k", "roles": roles})
    assert settings.endpoint("verification").base_url == "http://h/v1"
    assert settings.endpoint("verification").key() == "k"


@pytest.mark.parametrize("limit", [float("nan"), -1, 0, "5", True])
def test_a_budget_takes_numbers_above_0_alone(limit: Any) -> None:
    for name in ("max_calls", "max_total_tokens", "max_cost", "max_seconds"):
        with pytest.raises(SettingsError, match=name):
            Budget(**{name: limit})
