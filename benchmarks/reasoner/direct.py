"""The synthetic reasoner as a client inside the process: no server, no limiter, no latency.

For curves, where millions of replies are wanted and nothing about requests is of interest. It sees
messages and seeds, as the server does, and gives the same replies.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.reasoner.lengths import Lengths, tokens
from benchmarks.reasoner.play import Player, UnknownPrompt
from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.models.calls import Call, Sending
from tmas_graph.models.making import Ask
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Message, Prompt
from tmas_graph.usage import Usage


@dataclass(frozen=True, slots=True)
class Spoken:
    """The replies to one request, and their tokens."""

    task: str
    texts: tuple[str, ...]
    prompt_tokens: int
    thinking: tuple[int, ...]
    """Tokens of thinking of each reply."""

    @property
    def completion_tokens(self) -> int:
        """Of all replies, thinking included."""
        return sum(map(tokens, self.texts)) + sum(self.thinking)


@dataclass(slots=True)
class Reasoner:
    """Answers messages, and counts what it was asked for."""

    player: Player = field(default_factory=Player)
    lengths: Lengths = field(default_factory=Lengths)
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by what they asked for; those that it didn't know as `unknown`."""

    def speak(self, messages: Sequence[Message], seed: int, n: int = 1) -> Spoken:
        """Give `n` replies; reply j is the one that seed + j alone would give.

        Raises:
            UnknownPrompt: the prompt isn't one of ours.
        """
        text = "\n\n".join(message["content"] for message in messages)
        try:
            task, replies = self.player.replies(text, range(seed, seed + n))
        except UnknownPrompt:
            self.asked["unknown"] += 1
            raise
        self.asked[task] += 1
        draws = [random.Random(f"{seed + j} {len(text)}") for j in range(n)]
        padded = tuple(
            self.lengths.padded(task, reply, rng) for reply, rng in zip(replies, draws, strict=True)
        )
        thinking = tuple(self.lengths.thinking(task, rng) for rng in draws)
        return Spoken(task, padded, tokens(text), thinking)


@dataclass(frozen=True, slots=True)
class Direct:
    """What runs take for the client of an endpoint."""

    reasoner: Reasoner
    takes_n: bool = True

    async def connect(self, endpoint: Endpoint) -> "Direct":
        """Be the client of any endpoint."""
        return self

    def asked_for_n(self, *, came: bool) -> None:
        """All replies always come."""

    async def ask(self, prompt: Prompt, ask: Ask, note: Callable[[Call], None]) -> Call:
        """Answer at once.

        Raises:
            UnknownPrompt: the prompt isn't one of ours; it ends the run, since that is a fault.
        """
        said = self.reasoner.speak(prompt.messages, ask.seed or 0, ask.n)
        thought = sum(said.thinking)
        usage = Usage(1, said.prompt_tokens, said.completion_tokens, thought)
        first, *others = said.texts
        call = Call(
            id=f"{ask.place} {ask.seed}",
            place=ask.place,
            base_url="",
            model="reasoner",
            served="reasoner",
            messages=tuple(prompt.messages),
            cut={},
            n=ask.n,
            seed=ask.seed,
            sampling={},
            purpose=ask.purpose,
            replies=(Reply(first, usage=usage), *map(Reply, others)),
            sendings=(Sending(0.0, 0.0, 0.0, "answered", 200, usage),),
        )
        note(call)
        return call
