"""How a method's calls reach a model: through inspect's own models, or through our endpoints."""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.util import LimitExceededError

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import EndpointDown
from tmas_graph.inspecting import usages
from tmas_graph.inspecting.spans import Spans
from tmas_graph.models import pool
from tmas_graph.models.calls import Call, Place, Sending
from tmas_graph.models.checkpointed import Client, Connect
from tmas_graph.models.making import Ask
from tmas_graph.models.replies import Reply, split_thinking
from tmas_graph.prompts import Message, Prompt
from tmas_graph.usage import summed

Note = Callable[[Call], None]
_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_ENDINGS = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
"""What a reply's end is called by endpoints, where it isn't `stop`."""


def through_inspect(spans: Spans) -> Connect:
    """Connect to the models of the eval: `--model`, or `--model-role` where a role has its own."""

    async def connect(endpoint: Endpoint) -> Client:
        return _Within(InspectClient(endpoint), spans)

    return connect


def through_endpoints(spans: Spans) -> Connect:
    """Connect to the endpoints of the settings; what is spent there is told to inspect."""

    async def connect(endpoint: Endpoint) -> Client:
        return _Within(_Told(await pool.connect(endpoint)), spans)

    return connect


class _Within:
    """A client whose calls are made in the span of their iteration and role."""

    def __init__(self, client: Client, spans: Spans) -> None:
        """Ask `client`."""
        self._client, self._spans = client, spans

    @property
    def takes_n(self) -> bool:
        """As the client itself."""
        return self._client.takes_n

    def asked_for_n(self, *, came: bool) -> None:
        """As the client itself."""
        self._client.asked_for_n(came=came)

    async def ask(self, prompt: Prompt, ask: Ask, note: Note) -> Call:
        """As the client itself."""
        return await self._spans.run(ask.place, self._client.ask(prompt, ask, note))


class _Told:
    """A client of an endpoint that tells inspect of its calls."""

    def __init__(self, client: Client) -> None:
        """Ask `client`."""
        self._client = client

    @property
    def takes_n(self) -> bool:
        """As the client itself."""
        return self._client.takes_n

    def asked_for_n(self, *, came: bool) -> None:
        """As the client itself."""
        self._client.asked_for_n(came=came)

    async def ask(self, prompt: Prompt, ask: Ask, note: Note) -> Call:
        """As the client itself.

        Raises:
            LimitExceededError: the sample's limit of tokens is passed.
        """

        def told(call: Call) -> None:
            note(call)
            usages.count(call.served or call.model, call.usage)
            transcript().info(_shown(call), source="tmas")

        try:
            return await self._client.ask(prompt, ask, told)
        finally:
            usages.check()


class InspectClient:
    """inspect's model in an endpoint's place: inspect limits, retries, caches and counts."""

    takes_n = True

    def __init__(self, endpoint: Endpoint) -> None:
        """Sample as `endpoint` says; where it is doesn't matter."""
        self._endpoint = endpoint

    def asked_for_n(self, *, came: bool) -> None:
        """Learn nothing of it: each reply is a request of its own."""

    async def ask(self, prompt: Prompt, ask: Ask, note: Note = lambda call: None) -> Call:
        """Make one call: a request for each reply; those that fail are left out.

        Raises:
            EndpointDown: all of them failed.
            LimitExceededError: a limit of the sample is passed.
        """
        model = get_model(role=ask.place.role)
        given = [_MESSAGES[message["role"]](content=message["content"]) for message in prompt.messages]
        sent = [_request(model, given, self._config(ask, j)) for j in range(ask.n)]
        began, since = time.time(), time.monotonic()
        try:
            async with asyncio.timeout(ask.seconds):
                came = await asyncio.gather(*sent, return_exceptions=True)
        except TimeoutError as error:
            raise EndpointDown(f"{model}: no reply came in the {ask.seconds:.3g} s left.") from error
        outputs = [output for output in came if isinstance(output, ModelOutput)]
        errors = [error for error in came if isinstance(error, BaseException)]
        sending = Sending(began, 0.0, time.monotonic() - since, "answered")
        sendings = [replace(sending, usage=usages.ours(output.usage)) for output in outputs]
        sendings += [replace(sending, outcome=_said(e), usage=usages.ours(None)) for e in errors]
        call = _call(prompt, ask, model, outputs, tuple(sendings))
        call = replace(call, cause="" if outputs else _said(errors[0]))
        note(call)
        for error in errors:
            if not isinstance(error, Exception) or isinstance(error, LimitExceededError):
                raise error
        if not outputs:
            down = EndpointDown(f"{model}: {_said(errors[0])}. See to the model, or try again.")
            down.usage = call.usage
            raise down from errors[0]
        return call

    def _config(self, ask: Ask, reply: int) -> GenerateConfig:
        endpoint = self._endpoint
        seed = None if ask.seed is None or not endpoint.send_seed else ask.seed + reply
        return GenerateConfig(
            temperature=endpoint.temperature,
            top_p=endpoint.top_p,
            max_tokens=ask.max_tokens or endpoint.max_tokens,
            seed=seed,
            extra_body={**endpoint.extra_body, **ask.fields} or None,
        )


class Asked:
    """A model of inspect's as the grader's judge: one question, one reply, no run around it."""

    def __init__(self, problem: str) -> None:
        """Ask about `problem`."""
        self._ask = Ask(place=Place(problem, 0, "judge"))
        self._client = InspectClient(Endpoint(temperature=0, send_seed=False))

    async def __call__(self, prompt: Prompt, *, n: int = 1) -> list[Reply]:
        """Return up to `n` replies.

        Raises:
            EndpointDown: none came.
        """
        return list((await self._client.ask(prompt, replace(self._ask, n=n))).replies)


async def _request(
    model: Model, messages: list[ChatMessage], config: GenerateConfig
) -> ModelOutput:
    output = await model.generate(list(messages), config=config)
    if output.error and not output.choices:
        raise EndpointDown(output.error)
    return output


def _call(
    prompt: Prompt, ask: Ask, model: Model, outputs: list[ModelOutput], sent: tuple[Sending, ...]
) -> Call:
    replies = [_reply(output) for output in outputs]
    spent = summed(sending.usage for sending in sent)
    messages: list[Message] = prompt.messages
    return Call(
        id=secrets.token_hex(8),
        place=ask.place,
        base_url="inspect",
        model=str(model),
        served=outputs[0].model if outputs else "",
        messages=tuple(messages),
        cut=dict(prompt.cut),
        n=ask.n,
        seed=ask.seed,
        sampling={},
        purpose=ask.purpose,
        replies=tuple(replace(r, usage=spent) for r in replies[:1]) + tuple(replies[1:]),
        sendings=sent,
    )


def _reply(output: ModelOutput) -> Reply:
    if output.empty:
        return Reply("", finish_reason="stop", refusal=output.error or "")
    message = output.message
    parts = message.content if isinstance(message.content, list) else []
    thinking = "\n".join(p.reasoning for p in parts if isinstance(p, ContentReasoning))
    more, text = split_thinking(message.text)
    return Reply(text, thinking or more, _ENDINGS.get(output.stop_reason, "stop"))


def _said(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def _shown(call: Call) -> dict[str, object]:
    """What a transcript shows of a call."""
    return {
        "candidate": call.place.index,
        "model": call.served or call.model,
        "calls": call.usage.calls,
        "tokens": call.usage.tokens,
        "seconds": round(sum(sending.seconds for sending in call.sendings), 3),
        "cause": call.cause,
        "replies": [{"ending": reply.ending, "text": reply.text} for reply in call.replies],
        "asked": call.messages[-1]["content"] if call.messages else "",
    }
