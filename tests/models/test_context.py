from pathlib import Path
from typing import Any, get_args

import pytest
from clients import ASK, asking, client_of, outcome, say, shrinking
from endpoints.behaviour import Wording
from endpoints.faults import errors
from endpoints.listing import tokens
from endpoints.protocol import Failure, Request
from endpoints.scripted import server
from tokenizers import Tokenizer, models, pre_tokenizers

from tmas_graph.errors import RequestRefused, SettingsError
from tmas_graph.models.making import Ask

pytestmark = pytest.mark.anyio
WORDINGS = get_args(Wording)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests for a count that scripted servers get."""
    seen: list[Any] = []

    def noted(body: Any, behaviour: Any) -> Any:
        seen.append(body)
        return tokens(body, behaviour)

    monkeypatch.setattr("endpoints.listing.tokens", noted)
    return seen


def size(request: Request) -> int:
    return -(-len(request.text) // 4)


@pytest.mark.parametrize(
    ("listed", "set_to", "known"),
    [(500, None, 500), (500, 400, 400), (400, 500, 400), (None, 450, 450)],
)
async def test_the_smaller_of_servers_and_settings_length_holds(
    listed: int | None, set_to: int | None, known: int
) -> None:
    async with (
        server(max_model_len=listed, tokenize=True) as scripted,
        client_of(scripted, context_tokens=set_to) as model,
    ):
        call = await model.ask(shrinking(40), Ask())
        assert model.window.length == known
    assert size(scripted.requests[0]) <= known * 3 // 4
    assert call.cut["paragraphs"] > 30


@pytest.mark.parametrize("max_tokens", [None, 20, 300, 5000])
@pytest.mark.parametrize("paragraphs", [0, 1, 3, 9, 40])
@pytest.mark.parametrize("tokenize", [True, "llama.cpp"])
async def test_a_server_of_known_length_is_never_sent_more(
    tokenize: Any, paragraphs: int, max_tokens: int | None
) -> None:
    async with (
        server(max_model_len=1000, context=1000, tokenize=tokenize) as scripted,
        client_of(scripted, max_tokens=max_tokens) as model,
    ):
        await model(ASK)
        call = await model.ask(shrinking(paragraphs), Ask())
    assert [r.status for r in scripted.requests] == [200, 200]
    assert len(call.sendings) == 1
    if paragraphs <= 3:
        assert call.cut == {}


async def test_the_reply_gives_way_before_the_prompt() -> None:
    async with (
        server(max_model_len=1000, tokenize=True) as scripted,
        client_of(scripted, max_tokens=900) as model,
    ):
        call = await model.ask(shrinking(5), Ask())
    assert call.cut == {}
    assert call.sampling["max_tokens"] == 1000 - size(scripted.requests[0])


async def test_what_surely_fits_is_not_counted(counts: list[Any]) -> None:
    async with (
        server(max_model_len=4000, tokenize=True) as scripted,
        client_of(scripted, max_tokens=1000) as model,
    ):
        await model(asking("x" * 2900))
        assert counts == []
        await model(asking("x" * 3100))
    assert len(counts) == 1


@pytest.mark.parametrize(("tokenize", "asked"), [(True, 1), ("llama.cpp", 2), (False, 2)])
async def test_how_a_server_counts_is_found_out_once(
    tokenize: Any, asked: int, counts: list[Any]
) -> None:
    async with (
        server(max_model_len=4000, tokenize=tokenize) as scripted,
        client_of(scripted, max_tokens=1000) as model,
    ):
        await model(asking("x" * 3500))
        assert len(counts) == asked
        await model(asking("x" * 3500))
    assert len(counts) == asked + (tokenize is not False)


async def test_a_counter_that_stays_broken_is_asked_no_more(counts: list[Any]) -> None:
    async with (
        server(max_model_len=4000, tokenize=Failure(status=503)) as scripted,
        client_of(scripted, max_tokens=1000) as model,
    ):
        for _ in range(5):
            await model(asking("x" * 3500))
    assert len(counts) == 3


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """One that takes a word for a token."""
    made = Tokenizer(models.WordLevel({"four": 0, "?": 1}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.mark.parametrize("name", ["", "tokenizer.json"])
async def test_a_tokenizer_counts_where_the_server_cant(tokenizer: Path, name: str) -> None:
    async with (
        server(max_model_len=1000) as scripted,
        client_of(scripted, tokenizer=str(tokenizer / name), max_tokens=100) as model,
    ):
        call = await model.ask(asking("four " * 800), Ask())
        assert call.sampling["max_tokens"] == 100
        call = await model.ask(asking("four " * 950), Ask())
        assert call.sampling["max_tokens"] == 1000 - 950 - 12


async def test_a_tokenizer_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    async with (
        server(max_model_len=1000) as scripted,
        client_of(scripted, tokenizer=str(tmp_path)) as model,
    ):
        with pytest.raises(SettingsError, match=r"tokenizer: .* can't be loaded"):
            await model(asking("x" * 3000))
    assert scripted.requests == []


@pytest.mark.parametrize("max_tokens", [None, 500])
@pytest.mark.parametrize("wording", WORDINGS)
async def test_a_context_error_leads_to_smaller_requests_until_one_fits(
    wording: Any, max_tokens: int | None
) -> None:
    async with (
        server(max_model_len=None, context=2000, context_wording=wording) as scripted,
        client_of(scripted, max_tokens=max_tokens) as model,
    ):
        call = await model.ask(shrinking(100), Ask())
        first = len(scripted.requests)
        assert call.replies[0].whole
        assert call.cut["paragraphs"] == 100 - scripted.requests[-1].text.count("\n")
        sizes = [(size(r), r.body.get("max_tokens", 0)) for r in scripted.requests]
        assert len(set(sizes)) == first, "each step is another request"
        assert 600 < sizes[-1][0] + sizes[-1][1] <= 2000
        assert call.usage.calls == first <= 15
        await model.ask(shrinking(99), Ask())
    assert len(scripted.requests) == first + 1, "the window is kept"


@pytest.mark.parametrize("wording", WORDINGS)
async def test_a_prompt_that_cant_be_cut_ends_in_the_servers_words(wording: Any) -> None:
    async with (
        server(max_model_len=None, context=2000, context_wording=wording) as scripted,
        client_of(scripted, max_tokens=500) as model,
    ):
        call, error = await outcome(model, asking("four" * 10_000))
    assert isinstance(error, RequestRefused)
    said = r"is refused \(HTTP 400" if wording == "unhelpful" else r"too long for the model \(HTTP"
    with pytest.raises(RequestRefused, match=said):
        raise error
    assert call.usage.calls == len(scripted.requests) <= 10


async def test_what_cant_fit_is_not_even_sent() -> None:
    async with (
        server(max_model_len=1000, tokenize=True) as scripted,
        client_of(scripted, max_tokens=100) as model,
    ):
        call, error = await outcome(model, asking("four" * 1200))
    assert "about 1200 tokens of prompt for 1000 of context" in str(error)
    assert "set context_tokens, rollouts_tokens or max_tokens lower." in str(error)
    assert (scripted.requests, call.usage.calls) == ([], 0)


async def test_settings_that_say_more_than_the_server_takes_are_believed_once() -> None:
    async with (
        server(max_model_len=None, context=2000) as scripted,
        client_of(scripted, max_tokens=500, context_tokens=8000) as model,
    ):
        await model.ask(shrinking(100), Ask())
        first = len(scripted.requests)
        await model.ask(shrinking(99), Ask())
    assert len(scripted.requests) == first + 1


async def test_a_server_that_says_its_length_is_believed_again_after_a_fault() -> None:
    async with (
        server(script=say, fault=lambda r: None if r.index else errors.too_long()) as scripted,
        client_of(scripted) as model,
    ):
        assert (await model.ask(shrinking(9), Ask())).cut
        assert not (await model.ask(shrinking(9), Ask())).cut
        assert model.window.length == 131_072


@pytest.mark.parametrize("status", [400, 422])
async def test_a_short_request_that_is_refused_is_not_repeated(status: int) -> None:
    async with server(fail=lambda r: status) as scripted, client_of(scripted) as model:
        with pytest.raises(RequestRefused):
            await model.ask(shrinking(10), Ask())
    assert len(scripted.requests) == 1
