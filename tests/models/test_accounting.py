from typing import Any

import pytest
from clients import ASK, asking, client_of, outcome
from endpoints.faults import connection
from endpoints.protocol import Request, ScriptedReply
from endpoints.scripted import server

from tmas_graph.endpoint_settings import Price
from tmas_graph.models.accounting import Measured, accounted, answered
from tmas_graph.models.completion import Completion
from tmas_graph.models.context import Fitted
from tmas_graph.models.making import Ask
from tmas_graph.usage import Usage

pytestmark = pytest.mark.anyio
ONE = Measured(prompt_tokens=100, deltas=0, estimated=50, size=200, replies=1)
THREE = Measured(prompt_tokens=100, deltas=0, estimated=150, size=600, replies=3)


def counted(prompt: Any, completion: Any, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, **more}


def test_what_the_server_counted_holds() -> None:
    assert accounted(counted(90, 40), ONE) == Usage(1, 90, 40)
    assert accounted(counted(90, 120), THREE) == Usage(1, 90, 120)


@pytest.mark.parametrize(
    "said", [{}, counted(None, None), counted(0, 0), counted("9", "4"), counted(-1, -1)]
)
def test_what_it_left_out_is_estimated(said: dict[str, Any]) -> None:
    assert accounted(said, ONE) == Usage(1, 100, 50, estimated_tokens=150)


def test_no_number_is_too_odd() -> None:
    assert accounted(counted(float("nan"), float("inf")), ONE).estimated_tokens == 150
    assert accounted(counted(90.0, 40.0), ONE) == Usage(1, 90, 40)


def test_one_number_that_is_left_out_is_estimated() -> None:
    assert accounted({"completion_tokens": 40}, ONE) == Usage(1, 100, 40, estimated_tokens=100)
    assert accounted({"prompt_tokens": 90}, ONE) == Usage(1, 90, 50, estimated_tokens=50)


def test_a_count_of_the_first_choice_only_is_raised() -> None:
    assert accounted(counted(90, 50), THREE) == Usage(1, 90, 150, estimated_tokens=100)


def test_pieces_of_a_stream_are_a_count_of_their_own() -> None:
    streamed = Measured(100, deltas=140, estimated=90, size=600, replies=3)
    assert accounted(counted(90, 60), streamed) == Usage(1, 90, 140, estimated_tokens=80)
    assert accounted({}, streamed).completion_tokens == 140


def test_of_one_reply_the_servers_count_holds_however_it_was_cut_into_pieces() -> None:
    by_character = Measured(100, deltas=200, estimated=50, size=200, replies=1)
    assert accounted(counted(90, 40), by_character) == Usage(1, 90, 40)


def test_an_empty_reply_costs_no_tokens() -> None:
    nothing = Measured(100, deltas=0, estimated=1, size=0, replies=1)
    assert accounted(counted(90, 0), nothing) == Usage(1, 90, 0)


def test_details_never_exceed_what_they_are_part_of() -> None:
    said = counted(
        90,
        40,
        prompt_tokens_details={"cached_tokens": 64},
        completion_tokens_details={"reasoning_tokens": 30},
    )
    assert accounted(said, ONE) == Usage(1, 90, 40, reasoning_tokens=30, cached_tokens=64)
    said["prompt_tokens_details"], said["completion_tokens_details"] = {"cached_tokens": 99}, 7
    assert accounted(said, ONE) == Usage(1, 90, 40, cached_tokens=90)
    said["prompt_tokens_details"] = None
    assert accounted(said, ONE) == Usage(1, 90, 40)


async def test_a_chat_templates_tokens_make_no_count_of_several_short_replies_too_low() -> None:
    three = Completion(streamed=True, usage=counted(39, 12))
    for index in range(3):
        for word in (" We", " must", " find", " the"):
            three.take({"choices": [{"index": index, "delta": {"content": word}}]})
    async with server() as scripted, client_of(scripted) as model:
        usage = answered(three, Fitted(ASK, 39, None), model.window)
    assert usage == Usage(1, 39, 12)


def fox(request: Request, choice: int) -> ScriptedReply:
    thinking = "The quick brown fox jumps. " * 20
    return ScriptedReply(text="The lazy dog sleeps. " * (10 + choice), thinking=thinking)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("said", "share"),
    [("whole", 0), ("bare", 0), ("cached", 0), ("null", 1), ("none", 1), ("first_choice", 0.7)],
)
async def test_whatever_a_server_says_usage_is_about_right(
    said: Any, share: float, n: int, stream: bool
) -> None:
    prompt = asking("Why does the fox jump over the dog? " * 30)
    async with (
        server(script=fox, usage="whole") as scripted,
        client_of(scripted, stream=stream) as model,
    ):
        await model.ask(prompt, Ask())  # tells how many bytes a token has
        truth = (await model.ask(prompt, Ask(n=n))).usage
        scripted.change(usage=said)
        usage = (await model.ask(prompt, Ask(n=n))).usage
    assert usage.prompt_tokens == pytest.approx(truth.prompt_tokens, rel=0.01)
    assert usage.completion_tokens == pytest.approx(truth.completion_tokens, rel=0.1)
    if n > 1 or said != "first_choice":
        assert (usage.estimated_tokens > 0) == (share > 0)
    assert usage.estimated_tokens <= usage.tokens
    assert usage.cached_tokens == (truth.prompt_tokens // 2 if said == "cached" else 0)


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        ({"scripted": Price(prompt=2, completion=10)}, 1000 * 2 + 100 * 10),
        ({"scripted": Price(prompt=2, cached=0.5)}, 500 * 2 + 500 * 0.5),
        ({"*": Price(prompt=2)}, 2000),
        ({"*": Price(prompt=2), "scripted": Price(prompt=3)}, 3000),
        ({"other": Price(prompt=2)}, 0),
        ({}, 0),
    ],
)
async def test_cost_is_by_the_price_table(prices: dict[str, Price], cost: float) -> None:
    def short(request: Request, choice: int) -> str:
        return "four" * 100

    async with (
        server(script=short, usage="cached") as scripted,
        client_of(scripted, prices=prices) as model,
    ):
        call = await model.ask(asking("four" * 1000), Ask())
    assert call.usage.cost * 1e6 == pytest.approx(cost)


async def test_the_served_name_has_a_price_too() -> None:
    async with (
        server(script=fox, models=("alias",)) as scripted,
        client_of(scripted, model="alias", prices={"alias": Price(prompt=1e6)}) as model,
    ):
        assert (await model.ask(ASK, Ask())).usage.cost == 3.0


async def test_a_request_that_broke_has_its_price(no_waits: None) -> None:
    fault = connection.drop("midway", chunks=3)
    async with (
        server(script=fox, fault=lambda r: fault) as scripted,
        client_of(scripted, prices={"*": Price(prompt=1, completion=1)}, attempts=2) as model,
    ):
        call, _ = await outcome(model)
    assert call.usage.cost * 1e6 == pytest.approx(call.usage.tokens)
    assert call.usage.completion_tokens > 100
