"""How much fits into a model's context, and prompts that are fitted into it.

A prompt that surely fits isn't counted: no text has more tokens than bytes. Others are counted by
the server, else by a Hugging Face tokenizer, else estimated by the bytes per token so far.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tmas_graph.errors import SettingsError
from tmas_graph.models.faults import Fault
from tmas_graph.models.served import Card, Server
from tmas_graph.prompts import Message, Prompt

_PER_MESSAGE = 12
"""Tokens that a chat template adds to a message, at most or nearly."""
_TEMPLATE = 64
"""Tokens that it may add by itself: a system message of its own, say."""
_BYTES_PER_TOKEN = 3.0
"""Before anything is measured: rather too few than too many."""
_ESTIMATED_BYTES = 3
"""Of a token in `prompts.estimate_tokens`."""
_LEAST_MEASURED = 1000
"""Bytes: of a shorter prompt, too many tokens are the chat template's own."""
_MARGIN = 1.15
_MOST_FAILURES = 3
"""In a row, after which the server isn't asked to count any more."""
_LESS = 0.25
"""The part of its prompt that a request gives up when the server refused it as too long."""
_LEAST_REPLY = 16
"""Tokens below which it is no use to ask for a reply."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits, as far as anyone can tell."""

    prompt: Prompt
    tokens: int
    """Of the prompt; counted or estimated."""
    max_tokens: int | None
    """Of a reply; None leaves it to the server."""

    @property
    def bytes(self) -> int:
        """Of the prompt."""
        return _bytes(self.prompt.messages)


@dataclass(frozen=True, slots=True)
class Asked:
    """What else decides how many tokens a prompt has."""

    model: str
    fields: Mapping[str, Any]
    """Of the request, beyond OpenAI's."""


_Count = Callable[[Sequence[Message], Asked], Awaitable[int | None]]


@dataclass(frozen=True, slots=True)
class _Size:
    """The tokens of a prompt."""

    tokens: int
    """Counted, or about."""
    most: int
    """With what the estimate may be wrong by."""
    bytes: int

    def as_estimated(self, tokens: int) -> int:
        """So many of these tokens, in those by which prompts estimate what they leave out."""
        return int(tokens * self.bytes / _ESTIMATED_BYTES / max(1, self.most)) + 1


class Window:
    """The context of one served model."""

    def __init__(self, server: Server, *, limit: int | None, tokenizer: str | None) -> None:
        """Know what the settings say: `limit` tokens at most, a `tokenizer` by name or path."""
        self.length = limit
        """Most tokens of prompt and reply; None while nobody knows."""
        self._is_said = False
        self._server = server
        self._tokenizer = tokenizer
        self._dialects: tuple[_Count, ...] = (self._as_vllm, self._as_llama_cpp)
        self._failures = 0
        self._bytes = self._tokens = 0

    async def ask(self, card: Card | None) -> None:
        """Take the length from the server, where it says one that is shorter than what is set."""
        said = card.length if card else None
        if said is None:
            said = await self._server.slot_length()
        self._is_said = said is not None
        self.length = min((n for n in (said, self.length) if n), default=None)

    def settle(self, accepted: Fitted, prompt_tokens: int) -> None:
        """Keep a limit that was found by trying: `accepted` fits, and more than that didn't.

        A server that says its own length is believed: what it refused now and then was a fault.

        Args:
            accepted: the request that was taken at last.
            prompt_tokens: its prompt's, as the server counted them.
        """
        if not self._is_said:
            reply = prompt_tokens // 3 if accepted.max_tokens is None else accepted.max_tokens
            self.length = min(prompt_tokens + reply, self.length or prompt_tokens + reply)

    def learn(self, messages: Sequence[Message], tokens: int) -> None:
        """Measure how many bytes a token has, from a prompt whose tokens a server counted."""
        size = _bytes(messages)
        if tokens > 0 and size >= _LEAST_MEASURED:
            self._bytes += size
            self._tokens += tokens

    def estimate(self, size: int) -> int:
        """About how many tokens `size` bytes of text are."""
        each = self._bytes / self._tokens if self._tokens else _BYTES_PER_TOKEN
        return int(size / max(1.0, each)) + 1

    def estimate_prompt(self, messages: Sequence[Message]) -> int:
        """About how many tokens a prompt has."""
        template = 0 if self._tokens else _PER_MESSAGE * len(messages)
        return self.estimate(_bytes(messages)) + template

    async def fit(
        self, prompt: Prompt, wanted: int | None, asked: Asked, limit: int | None
    ) -> Fitted:
        """Make `prompt` and a reply of up to `wanted` tokens fit into `limit` tokens.

        The reply gives way first, down to a quarter of the context; then the prompt says less.

        Raises:
            Fault: what can't be left out is too long.
        """
        if limit is None:
            return Fitted(prompt, self.estimate_prompt(prompt.messages), wanted)
        least = min(wanted or limit, limit // 4)
        while True:
            size = await self._size(prompt.messages, limit - (wanted or least), asked)
            room = limit - size.most
            shorter = prompt.smaller(size.as_estimated(least - room)) if room < least else None
            if shorter is None:
                break
            prompt = shorter
        if room < 1:
            raise Fault("context", f"about {size.tokens} tokens of prompt for {limit} of context")
        return Fitted(prompt, size.tokens, wanted and min(wanted, room))

    async def _size(self, messages: Sequence[Message], enough: int, asked: Asked) -> _Size:
        estimated = self.estimate_prompt(messages)
        size = _bytes(messages)
        surely = size + _PER_MESSAGE * len(messages) + _TEMPLATE
        if surely <= enough:
            return _Size(estimated, surely, size)
        counted = await self._count(messages, asked)
        if counted is None:
            return _Size(estimated, int(estimated * _MARGIN), size)
        return _Size(counted, counted, size)

    async def _count(self, messages: Sequence[Message], asked: Asked) -> int | None:
        for dialect in self._dialects:
            try:
                counted = await dialect(messages, asked)
            except Fault:  # it has one that doesn't work now
                self._failures += 1
                if self._failures >= _MOST_FAILURES:
                    self._dialects = ()
                break
            if counted:
                self._dialects, self._failures = (dialect,), 0
                return counted
            self._dialects = tuple(d for d in self._dialects if d != dialect)
        if self._tokenizer is None:
            return None
        tokens = await asyncio.to_thread(_tokens, self._tokenizer, _text(messages))
        return tokens + _PER_MESSAGE * len(messages)

    async def _as_vllm(self, messages: Sequence[Message], asked: Asked) -> int | None:
        return await self._server.tokens(asked.model, messages, asked.fields)

    async def _as_llama_cpp(self, messages: Sequence[Message], asked: Asked) -> int | None:
        bare = await self._server.bare_tokens(_text(messages))
        return None if bare is None else bare + _PER_MESSAGE * len(messages)


def lessened(refused: Fitted) -> Fitted | None:
    """A smaller request than the one that was `refused` as too long; None if there is none.

    It depends on that request alone, not on what was measured before: equal calls end equal. The
    reply gives way while it may be the longer part, then the prompt, at last the reply again.
    """
    wanted, prompt = refused.max_tokens, refused.prompt
    tokens = refused.bytes // _ESTIMATED_BYTES
    if wanted is not None and wanted > max(tokens, _LEAST_REPLY):
        return replace(refused, max_tokens=wanted // 2)
    if shorter := prompt.smaller(int(tokens * _LESS) + 1):
        return replace(refused, prompt=shorter)
    if wanted is not None and wanted > _LEAST_REPLY:
        return replace(refused, max_tokens=wanted // 2)
    return None


def _tokens(name: str, text: str) -> int:
    return len(loaded(name).encode(text, add_special_tokens=False))


@cache
def loaded(name: str) -> Any:
    """The tokenizer `name`: a tokenizer.json, a folder that holds one, or a name on the hub.

    Raises:
        SettingsError: there is none.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415  (only where one is asked for)

    path = Path(name).expanduser()
    here = path.is_absolute() or path.exists()
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        return Tokenizer.from_file(str(path)) if here else Tokenizer.from_pretrained(name)
    except Exception as error:  # tokenizers raises bare Exceptions
        raise SettingsError(
            f"tokenizer: {name!r} can't be loaded ({str(error).splitlines()[0][:150]}). Give a "
            "tokenizer.json, its folder, or a name on the Hugging Face hub."
        ) from error


def _text(messages: Sequence[Message]) -> str:
    return "\n".join(message["content"] for message in messages)


def _bytes(messages: Sequence[Message]) -> int:
    return sum(len(message["content"].encode("utf-8", "replace")) for message in messages)
