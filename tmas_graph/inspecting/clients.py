"""How a method's calls reach a model: through inspect's own models, or through our endpoints."""

from collections.abc import Callable

from inspect_ai.log import transcript
from pydantic import JsonValue

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.inspecting import usages
from tmas_graph.inspecting.asking import InspectClient
from tmas_graph.inspecting.spans import Spans
from tmas_graph.models import pool
from tmas_graph.models.calls import Call
from tmas_graph.models.checkpointed import Client, Connect
from tmas_graph.models.making import Ask
from tmas_graph.prompts import Prompt

Note = Callable[[Call], None]


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


def _shown(call: Call) -> JsonValue:
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
