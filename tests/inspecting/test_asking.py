"""inspect's models in the place of endpoints: what a reply becomes."""

import asyncio
from typing import Any

import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.model._model import init_active_model

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import EndpointDown
from tmas_graph.inspecting.asking import InspectClient, Judge
from tmas_graph.inspecting.usages import ours, theirs
from tmas_graph.models.making import Ask
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Message, Prompt
from tmas_graph.usage import Usage

pytestmark = pytest.mark.anyio

MESSAGES: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "1 + 1?"},
    {"role": "assistant", "content": "It is"},
]


def saying(content: str | list[Content], stop: Any = "stop") -> ModelOutput:
    message = ChatMessageAssistant(content=content)
    output = ModelOutput(
        model="served", choices=[ChatCompletionChoice(message=message, stop_reason=stop)]
    )
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def active(*outputs: ModelOutput) -> Model:
    model = get_model("mockllm/model", memoize=False, custom_outputs=list(outputs))
    init_active_model(model, GenerateConfig())
    return model


async def reply(output: ModelOutput) -> Reply:
    active(output)
    call = await InspectClient(Endpoint()).ask(Prompt(MESSAGES), Ask())
    [found] = call.replies
    return found


async def test_thinking_is_kept_apart_from_what_was_said() -> None:
    found = await reply(saying([ContentReasoning(reasoning="hm"), ContentText(text="2")]))
    assert (found.thinking, found.text, found.ending) == ("hm", "2", "whole")
    found = await reply(saying("hm</think>2"))
    assert (found.thinking, found.text) == ("hm", "2")


@pytest.mark.parametrize(
    ("stop", "ending"),
    [
        ("stop", "whole"),
        ("max_tokens", "truncated"),
        ("model_length", "truncated"),
        ("content_filter", "filtered"),
    ],
)
async def test_how_a_reply_ended_is_known(stop: str, ending: str) -> None:
    assert (await reply(saying("some text", stop))).ending == ending


async def test_a_reply_without_text_is_empty_and_a_refusal_a_refusal() -> None:
    assert (await reply(saying(""))).ending == "empty"
    refused = ModelOutput(model="served", error="no such thing")
    refused.usage = ModelUsage()
    assert (await reply(refused)).ending == "refused"


async def test_the_record_says_what_was_asked_and_what_all_of_it_cost() -> None:
    active(saying("a"), saying("b"))
    noted: list[Any] = []
    call = await InspectClient(Endpoint()).ask(Prompt(MESSAGES), Ask(n=2, seed=5), noted.append)
    assert noted == [call]
    assert list(call.messages) == MESSAGES
    assert (call.model, call.served, call.n, call.seed) == ("mockllm/model", "served", 2, 5)
    assert {reply.text for reply in call.replies} == {"a", "b"}
    assert call.usage == Usage(2, 2, 2)
    assert [reply.usage for reply in call.replies] == [Usage(2, 2, 2), Usage()]


async def test_what_takes_longer_than_the_budget_is_given_up_and_charged() -> None:
    async def never(*given: object) -> ModelOutput:
        await asyncio.Event().wait()
        raise AssertionError

    init_active_model(
        get_model("mockllm/model", memoize=False, custom_outputs=never), GenerateConfig()
    )
    noted: list[Any] = []
    with pytest.raises(EndpointDown, match=r"no reply came in the 0\.01 s left\. See"):
        await InspectClient(Endpoint()).ask(Prompt(MESSAGES), Ask(n=2, seconds=0.01), noted.append)
    [call] = noted
    assert (call.usage.calls, call.replies) == (2, ())


async def test_a_judge_asks_outside_of_any_run() -> None:
    active(saying(r"\boxed{yes}"))
    [found] = await Judge("p1")(Prompt(MESSAGES))
    assert found.text == r"\boxed{yes}"


async def test_usage_is_the_same_in_both_words() -> None:
    usage = Usage(1, 100, 40, reasoning_tokens=30, cached_tokens=60, cost=0.5)
    assert ours(theirs(usage)) == usage
    assert theirs(usage).input_tokens == 40
    assert theirs(usage).total_tokens == 140
