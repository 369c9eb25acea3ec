"""Makes the prompts of a recorded TMAS thread again, from its checkpoints, and proves them.

No store of experience is opened: the checkpoints hold what was noted, and vectors are made anew.
What comes out is compared with what was sent, call by call. Where it differs, because the run
went on under other settings, say, nobody knows what the bank was, and the prompt is left out.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from tmas_graph.agents.fitting import Shown, prompt, without
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.graph import GRAPH_VERSION
from tmas_graph.grpo.rows import Source
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import hidden, ledger_of
from tmas_graph.memory.opening import embedder_of, reader_of
from tmas_graph.memory.ranking import matrix
from tmas_graph.memory.retrieval import Noted, Recalled, noted
from tmas_graph.offers import experience_for, to_exploit, to_explore
from tmas_graph.prompts import Message, Prompts
from tmas_graph.records import Record
from tmas_graph.rollout import memory_of
from tmas_graph.settings import Settings
from tmas_graph.state import Memory, Mode
from tmas_graph.threads import ThreadStore

EMPTY = "the bank was empty still"
OTHER = "it can't be made again as it was sent"
OLD = "made by another version of the graph"
_SOURCES: Mapping[Mode, Source] = {"exploit": "experience", "explore": "guideline"}
_TEMPLATES: Mapping[Mode, str] = {"exploit": "solution_exploit", "explore": "solution_explore"}


@dataclass(frozen=True, slots=True)
class Again:
    """A prompt that was made again."""

    iteration: int
    source: Source
    shown: Shown
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What candidates of one mode were shown in one iteration, before it had to fit."""

    iteration: int
    mode: Mode
    shown: Shown


@dataclass(slots=True)
class Thread:
    """One recorded thread whose prompts are made again."""

    store: ThreadStore
    record: Record
    settings: Settings
    """The record's, with keys."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many prompts, by why."""
    renewed: int = 0
    """Prompts whose template has changed since they were sent: they are in today's words."""

    async def prompts(self, rows: Sequence[Row], *, rollouts: bool) -> AsyncIterator[Again]:
        """The prompts of all candidates that saw a bank, each once for an iteration.

        Args:
            rows: of the thread, with each candidate's mode.
            rollouts: keep the earlier attempts that exploiting candidates saw.

        Raises:
            StorageError: the thread's database can't be read.
            CallError, MissingExtra: the thread's embedder can't be used.
            PromptError: a template is missing or faulty.
        """
        if self.record.version != GRAPH_VERSION:
            self.left_out[OLD] += 1
            return
        memories, items = await self._recorded()
        sent = await self._sent()
        for row in rows:
            t = row.iteration
            for mode in _SOURCES:
                places = [(t, a.index) for a in row.attempts if a.mode == mode]
                calls = [sent[place] for place in places if place in sent]
                if calls and t in memories:
                    asked = _Asked(t, mode, await self._shown(mode, memories[t], items))
                    for again in await self._proven(asked, calls, rollouts):
                        yield again

    async def _recorded(self) -> tuple[dict[int, Memory], dict[str, Item]]:
        """What each iteration could be shown, and every item that was ever noted."""
        at: RunnableConfig = {"configurable": {"thread_id": self.record.id, "checkpoint_ns": ""}}
        memories, items = dict[int, Memory](), dict[str, Item]()
        async with aclosing(cast(Any, self.store.saver.alist(at))) as checkpoints:
            async for stored in checkpoints:
                values = stored.checkpoint["channel_values"]
                found = [Item(*row) for row in values.get("noted", ())]
                items |= {item.id: item for item in found}
                if "iteration" in values:  # the newest comes first, so that the oldest stays
                    memories[values["iteration"]] = memory_of(values)
        return memories, items

    async def _sent(self) -> dict[tuple[int, int], str]:
        """Ids of the answered calls for solutions, by iteration and candidate."""
        return {
            (row.iteration, row.candidate): row.id
            async for row in self.store.calls(self.record.id).rows()
            if (row.role, row.purpose) == ("solution", "first") and row.replies
        }

    async def _shown(self, mode: Mode, memory: Memory, items: Mapping[str, Item]) -> Shown:
        if mode == "explore":
            return Shown(strategies=to_explore(memory, self.settings))
        return to_exploit(memory, await self._experience(memory, items), self.settings)

    async def _experience(self, memory: Memory, items: Mapping[str, Item]) -> tuple[Noted, ...]:
        if not self.settings.experience:
            return ()
        ledger, embedder = ledger_of(memory.experience), embedder_of(self.settings.embeddings)
        gone = hidden(ledger)
        found = noted(ledger, {id: item for id, item in items.items() if id not in gone})
        vectors = await embedder.embed([one.text for one in found])
        bank = replace(reader_of(self.settings), embedder=embedder)
        known = Recalled(tuple(found), matrix(vectors))
        return await experience_for(self.record.problem, memory, self.settings, bank, known)

    async def _proven(self, asked: _Asked, calls: Sequence[str], rollouts: bool) -> list[Again]:
        """The distinct prompts that `calls` sent, as far as they show a bank."""
        prompts, found = Prompts.of(self.settings), dict[str, Again]()
        template = _TEMPLATES[asked.mode]
        unchanged = prompts.hashes([template])[template] == self.record.prompts.get(template)
        for name in calls:
            call = await self.store.calls(self.record.id).get(name)
            seen = without(asked.shown, call.cut)
            made = self._rendered(prompts, template, seen)
            if unchanged and made != call.messages:
                continue
            if not rollouts:
                seen = replace(seen, rollouts=())
                made = self._rendered(prompts, template, seen)
            found[repr(made)] = Again(asked.iteration, _SOURCES[asked.mode], seen, made)
        kept = [again for again in found.values() if _shows_a_bank(again.shown)]
        self.renewed += 0 if unchanged else len(kept)
        if not kept:
            self.left_out[EMPTY if found else OTHER] += 1
        return kept

    def _rendered(self, prompts: Prompts, template: str, shown: Shown) -> tuple[Message, ...]:
        return tuple(prompt(prompts, template, self.record.problem, shown).messages)


def _shows_a_bank(shown: Shown) -> bool:
    listed = shown.strategies
    return bool(shown.experience or shown.borrowed or listed.full or listed.folded)
