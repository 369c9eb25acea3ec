import asyncio
from typing import Any

import pytest
from clients import ASK, client_of, say, until
from endpoints.faults import connection
from endpoints.scripted import server
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda

from tmas_graph.models import listening
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.models.making import Ask

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_waits")]


class Listener(AsyncCallbackHandler):
    raise_error = True

    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **about: Any) -> None:
        self.heard.append(("start", messages, about))

    async def on_llm_end(self, response: Any, **about: Any) -> None:
        self.heard.append(("end", response, about))

    async def on_llm_error(self, error: BaseException, **about: Any) -> None:
        self.heard.append(("error", error, about))


async def call_within(model: EndpointClient, listener: Listener, **ask: Any) -> Any:
    return await step(model, **ask).ainvoke(None, {"callbacks": [listener], "tags": ["tag"]})


def step(model: EndpointClient, **ask: Any) -> RunnableLambda[Any, Any]:
    async def call(_: Any) -> Any:
        return await model.ask(ASK, Ask(**ask))

    return RunnableLambda(call)


async def test_langchains_handlers_hear_of_each_request() -> None:
    listener = Listener()
    async with (
        server(script=say, fail=lambda r: None if r.attempt else 503) as scripted,
        client_of(scripted, api_key="s3cret") as model,
    ):
        call = await call_within(model, listener, n=2)
    assert [kind for kind, *_ in listener.heard] == ["start", "error", "start", "end"]
    _, [[message]], about = listener.heard[0]
    assert isinstance(message, HumanMessage)
    assert (message.content, about["invocation_params"]["n"]) == ("What is 6·7?", 2)
    assert "tag" in about["tags"]
    [generations] = listener.heard[-1][1].generations
    assert [g.text for g in generations] == [r.text for r in call.replies]
    assert "s3cret" not in repr(listener.heard)


async def test_handlers_hear_of_a_request_that_is_cancelled() -> None:
    listener = Listener()
    async with (
        server(fault=lambda r: connection.hang()) as scripted,
        client_of(scripted, model="scripted") as model,
    ):
        task = asyncio.create_task(call_within(model, listener))
        await until(lambda: scripted.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [kind for kind, *_ in listener.heard] == ["start", "error"]


async def test_nobody_listening_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "get_async_callback_manager_for_config", None)
    async with server(script=say) as scripted, client_of(scripted) as model:
        await step(model).ainvoke(None)
        assert (await model(ASK))[0].whole


async def test_the_model_is_langchains_too() -> None:
    async with server(script=say) as scripted, client_of(scripted) as model:
        await model.check()
        message = await model.chat.ainvoke("What is 6·7?")
    assert message.text.startswith("text 0")
    assert message.additional_kwargs["thinking"].startswith("thought 0")
