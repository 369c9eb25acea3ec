"""What a server says of itself: its models, how long their contexts are, how long a text is."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tmas_graph.errors import CallError, EndpointDown, RequestRefused
from tmas_graph.models.events import decoded
from tmas_graph.models.faults import Fault, hidden
from tmas_graph.models.transport import asked
from tmas_graph.prompts import Message

_SECONDS = 15.0
_AT_ONCE = 16
"""Questions at a time; they don't wait for the limiter, which is for model calls."""
_MOST_NAMES = 10
_LONGEST_NAME = 80
_OF_THE_TEMPLATE = ("chat_template_kwargs", "continue_final_message", "add_generation_prompt")
_LENGTHS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Names that servers give the length of a model's context; OpenAI itself doesn't say it."""


@dataclass(frozen=True, slots=True)
class Card:
    """A model that is served."""

    name: str
    length: int | None
    """Most tokens of prompt and reply together; None where the server doesn't say."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server, asked about itself; none of this counts as a model call."""

    base_url: str
    key: str
    http: aiohttp.ClientSession
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def cards(self) -> list[Card]:
        """The models that it lists; none where it can't list them.

        Raises:
            EndpointDown: nothing answers, or it is busy.
            RequestRefused: the key is refused.
        """
        try:
            body = await self._ask("GET", f"{self.base_url.rstrip('/')}/models")
        except Fault as fault:
            if fault.status is None or fault.again or fault.status in (401, 403):
                raise explained(fault, self.base_url) from fault
            return []
        listed = body.get("data") if isinstance(body, dict) else None
        entries = listed if isinstance(listed, list) else []
        named = [e for e in entries if isinstance(e, dict) and isinstance(e.get("id"), str)]
        lengths = {entry["id"]: _length(entry) for entry in named}
        return [  # a LoRA's length is its parent's
            Card(hidden(e["id"], self.key), lengths[e["id"]] or lengths.get(str(e.get("parent"))))
            for e in named
        ]

    async def slot_length(self) -> int | None:
        """Tokens in one slot of llama.cpp's server; None of any other server."""
        try:
            body = await self._ask("GET", f"{self._root}/props")
        except Fault:
            return None
        given = body.get("default_generation_settings") if isinstance(body, dict) else None
        return _whole(given.get("n_ctx")) if isinstance(given, dict) else None

    async def tokens(
        self, model: str, messages: Sequence[Message], fields: Mapping[str, Any]
    ) -> int | None:
        """Tokens of a prompt by vLLM's `/tokenize`, template included; None where it has none.

        `fields` of the request may change what the template makes of the prompt.

        Raises:
            Fault: the server has it, but it doesn't work now.
        """
        body = {"model": model, "messages": list(messages), "add_generation_prompt": True}
        body |= {name: fields[name] for name in _OF_THE_TEMPLATE if name in fields}
        return _whole((await self._tokenize(body)).get("count"))

    async def bare_tokens(self, text: str) -> int | None:
        """Tokens of a text by llama.cpp's `/tokenize`; None where it has none.

        Raises:
            Fault: the server has it, but it doesn't work now.
        """
        tokens = (await self._tokenize({"content": text})).get("tokens")
        return len(tokens) if isinstance(tokens, list) and tokens else None

    async def _tokenize(self, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            said = await self._ask("POST", f"{self._root}/tokenize", body)
        except Fault as fault:
            if fault.status is not None and fault.status < 500 and not fault.again:
                return {}
            raise
        return said if isinstance(said, dict) else {}

    async def _ask(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
        try:
            async with self._turns, asyncio.timeout(_SECONDS):
                content = await asked(self.http, method, url, self.key, body)
        except TimeoutError:
            raise Fault("broken", f"no answer came within {_SECONDS:g} s") from None
        try:
            return decoded(content)
        except Fault:
            raise Fault("foreign", "the answer is no JSON", status=404) from None

    @property
    def _root(self) -> str:
        return self.base_url.rstrip("/").removesuffix("/v1")


def listed(names: Sequence[str]) -> str:
    """The first of `names`, each cut to a line's length: a server may list what it likes."""
    short = [" ".join(name.split()) for name in names[:_MOST_NAMES]]
    short = [f"{n[: _LONGEST_NAME - 1]}…" if len(n) > _LONGEST_NAME else n for n in short]
    more = len(names) - len(short)
    return ", ".join(short) + (f" and {more:,} more" if more else "")


def explained(fault: Fault, where: str, variable: str = "TMAS_API_KEY") -> CallError:
    """What to tell people of `fault` at the endpoint `where`, and what they can do.

    `variable` of the environment is the one that holds its key.
    """
    said = f"{where}: {fault.words}"
    if fault.kind in _DOWN:
        advice = _MANY_FILES if "open files" in fault.said else _DOWN[fault.kind]
        return EndpointDown(f"{said}. {advice}", fault.status)
    if fault.status in (401, 403):
        reason = ": ".join(filter(None, (f"HTTP {fault.status}", fault.said.rstrip("."))))
        said = f"{where}: the key is refused ({reason}). Set {variable}."
    elif fault.kind in ("malformed", "foreign"):
        said = f"{where}: the reply is not in OpenAI's form ({fault.words}). {_BASE_URL}"
    elif fault.status == 404:
        said = f"{where}: not found ({fault.words}). {_BASE_URL}"
    elif fault.kind == "context":
        said = f"{where}: the request is too long for the model ({fault.words}). {_LENGTH}"
    else:
        said = f"{where}: the request is refused ({fault.words}). Change the settings."
    return RequestRefused(said, fault.status)


_DOWN = {
    "unreachable": "Start the server, or set base_url.",
    "broken": "See whether the server still runs.",
    "deadline": "See what holds it up, or set timeout_seconds higher.",
    "stalled": "See what holds it up, or set stall_seconds higher.",
    "busy": "It is busy or broken; try again later.",
}
"""What to do of faults that may pass, by kind."""
_MANY_FILES = "Raise the limit (ulimit -n), or set concurrency lower."
_BASE_URL = "Check base_url (it ends in /v1)."
_LENGTH = (
    "Serve it with a longer context, or set context_tokens, rollouts_tokens or max_tokens lower."
)


def _length(entry: Mapping[str, Any]) -> int | None:
    return next((n for name in _LENGTHS if (n := _whole(entry.get(name)))), None)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
