"""inspect's models in the place of endpoints, for the calls of a method and for the judge."""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
from tmas_graph.models.calls import Call, Place, Sending
from tmas_graph.models.making import Ask
from tmas_graph.models.replies import Reply, split_thinking
from tmas_graph.prompts import Prompt
from tmas_graph.usage import Usage, summed

_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_ENDINGS = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
"""What endpoints call a reply's end, where it isn't `stop`."""


def _unnoted(call: Call) -> None:
    """Note nothing."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What became of one request."""

    sending: Sending
    output: ModelOutput | None = None
    error: BaseException | None = None


class InspectClient:
    """inspect's model as the client of an endpoint: inspect limits, retries, caches and counts."""

    takes_n = True

    def __init__(self, endpoint: Endpoint) -> None:
        """Sample as `endpoint` says; where it is doesn't matter."""
        self._endpoint = endpoint

    def asked_for_n(self, *, came: bool) -> None:
        """Learn nothing of it: each reply is a request of its own."""

    async def ask(self, prompt: Prompt, ask: Ask, note: Callable[[Call], None] = _unnoted) -> Call:
        """Make one call: a request for each reply; those that fail are left out.

        Raises:
            EndpointDown: all of them failed.
            LimitExceededError: a limit of the sample is passed.
        """
        model = get_model(role=ask.place.role)
        given = [_MESSAGES[m["role"]](content=m["content"]) for m in prompt.messages]
        configs = [self._config(ask, j) for j in range(ask.n)]
        try:
            async with asyncio.timeout(ask.seconds):
                answers = await asyncio.gather(*(_answer(model, given, c) for c in configs))
        except TimeoutError as error:
            late = f"no reply came in the {ask.seconds:.3g} s left"
            given_up = Sending(time.time(), 0.0, ask.seconds or 0.0, late, usage=Usage(1))
            answers = [_Answer(given_up, error=error)] * ask.n
        call = _call(prompt, ask, model, answers)
        note(call)
        _raise_failure(call, answers)
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


class Judge:
    """A model of inspect's as the grader's judge, outside of any run."""

    def __init__(self, problem: str) -> None:
        """Ask about the problem of this id."""
        self._ask = Ask(place=Place(problem, 0, "judge"))
        self._client = InspectClient(Endpoint(temperature=0, send_seed=False))

    async def __call__(self, prompt: Prompt, *, n: int = 1) -> list[Reply]:
        """Return up to `n` replies.

        Raises:
            EndpointDown: none came.
        """
        return list((await self._client.ask(prompt, replace(self._ask, n=n))).replies)


async def _answer(model: Model, messages: Sequence[ChatMessage], config: GenerateConfig) -> _Answer:
    began, since = time.time(), time.monotonic()
    try:
        output = await model.generate(list(messages), config=config)
    except Exception as error:  # a provider may raise anything; a limit of the sample, too
        seconds = time.monotonic() - since
        return _Answer(Sending(began, 0.0, seconds, _said(error), usage=Usage(1)), error=error)
    seconds = time.monotonic() - since
    spent = usages.ours(output.usage)
    return _Answer(Sending(began, 0.0, seconds, "answered", usage=spent), output)


def _call(prompt: Prompt, ask: Ask, model: Model, answers: Sequence[_Answer]) -> Call:
    outputs = [answer.output for answer in answers if answer.output is not None]
    replies = [_reply(output) for output in outputs]
    sendings = tuple(answer.sending for answer in answers)
    spent = summed(sending.usage for sending in sendings)
    return Call(
        id=secrets.token_hex(8),
        place=ask.place,
        base_url="inspect",
        model=str(model),
        served=outputs[0].model if outputs else "",
        messages=tuple(prompt.messages),
        cut=dict(prompt.cut),
        n=ask.n,
        seed=ask.seed,
        sampling={},
        purpose=ask.purpose,
        replies=tuple(replace(r, usage=spent) for r in replies[:1]) + tuple(replies[1:]),
        cause="" if replies else sendings[0].outcome,
        sendings=sendings,
        draw=ask.seed,
    )


def _raise_failure(call: Call, answers: Sequence[_Answer]) -> None:
    errors = [answer.error for answer in answers if answer.error is not None]
    for error in errors:
        if isinstance(error, LimitExceededError):
            raise error
    if not call.replies:
        down = EndpointDown(f"{call.model}: {call.cause}. See to the model, or try again.")
        down.usage = call.usage
        raise down from errors[0]


def _reply(output: ModelOutput) -> Reply:
    if output.empty:
        return Reply("", refusal=output.error or "")
    message = output.message
    parts = message.content if isinstance(message.content, list) else []
    thinking = "\n".join(part.reasoning for part in parts if isinstance(part, ContentReasoning))
    more, text = split_thinking(message.text)
    return Reply(text, thinking or more, _ENDINGS.get(output.stop_reason, "stop"))


def _said(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")
