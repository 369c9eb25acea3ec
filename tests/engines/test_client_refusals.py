"""What our client tells people where vLLM can't serve them."""

import pytest
from clients import ASK

from engines.ours import model_of, refusal
from engines.process import MODEL, VllmServer
from tmas_graph.errors import RequestRefused

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(600),
    pytest.mark.anyio,
    pytest.mark.usefixtures("pooled"),
]


@pytest.mark.parametrize("key", ["wrong", None])
async def test_a_wrong_key_is_named_at_once(engine: VllmServer, key: str | None) -> None:
    model = await model_of(engine, api_key=key)
    with pytest.raises(RequestRefused) as checked:
        await model.check()
    named = await model_of(engine, api_key=key, model=MODEL)
    _, error = await refusal(named, ASK)
    assert (
        str(checked.value)
        == str(error)
        == (f"{engine.url}/v1: the key is refused (HTTP 401: Unauthorized). Set TMAS_API_KEY.")
    )


async def test_an_unknown_model_is_told_with_what_is_served(engine: VllmServer) -> None:
    model = await model_of(engine, model="smollm2-360m")
    with pytest.raises(RequestRefused) as checked:
        await model.check()
    _, error = await refusal(model, ASK)
    assert (
        str(checked.value)
        == str(error)
        == (
            f"{engine.url}/v1: model 'smollm2-360m' is not served (did you mean '{MODEL}'?). "
            f"It serves: {MODEL}."
        )
    )


async def test_a_wrong_path_is_told_as_such(engine: VllmServer) -> None:
    model = await model_of(engine, base_url=engine.url, model=MODEL)
    _, error = await refusal(model, ASK)
    assert isinstance(error, RequestRefused)
    assert str(error) == (
        f"{engine.url}: not found (HTTP 404 (Not Found)). Check base_url (it ends in /v1)."
    )
    with pytest.raises(RequestRefused, match=r"the server lists none.*it ends in /v1"):
        await (await model_of(engine, base_url=engine.url)).check()


async def test_a_setting_that_vllm_refuses_is_told_in_its_words(engine: VllmServer) -> None:
    model = await model_of(engine, extra_body={"temperature": -1})
    call, error = await refusal(model, ASK)
    assert "the request is refused (HTTP 400 (temperature must be non-negative" in str(error)
    assert [sending.status for sending in call.sendings] == [400]
