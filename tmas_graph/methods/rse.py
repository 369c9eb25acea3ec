r"""RSE (arXiv 2601.21684): a bank of what rollouts have shown to hold, and of what went wrong.

Carried between iterations: the bank. After each iteration but the last, each rollout is distilled
by itself, without the gold answer, into verified propositions and critical pitfalls. The next
candidates have the bank in their system message: pitfalls to avoid first, then propositions to
verify before use. Calls per problem: N·T + N·(T − 1). The answer is that of most in the last
iteration, whose mean is what the paper measures.

Departures from the paper:
1. Items are tagged lines, not JSON, which would turn `\frac` and `\beta` into control characters.
2. An item that the bank says already is left out by the guards of TMAS, under which "x = 3" isn't
   "x = 4"; `merge = "published"` takes a substring or a cosine above 0.8 for the same, whatever
   the numbers say.
3. What exceeds `experience_tokens` isn't shown, the oldest items first.
4. A rollout that was cut isn't distilled. N is the settings', not 32, and so is the sampling.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tmas_graph.agents import experience
from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.merging import new_items
from tmas_graph.memory.opening import embedder_of
from tmas_graph.memory.retrieval import Noted, fitted
from tmas_graph.models.replies import Reply
from tmas_graph.parts.combining import mode_after
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import ask, write
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout

Bank = tuple[Item, ...]
"""Conclusions and pitfalls, those of the latest iteration first."""
_ALIKE = 0.8


async def rse(run: Run) -> None:
    """Let each iteration start from what those before have left in the bank."""
    bank: Bank = ()
    for t in range(run.settings.iterations):
        last = t + 1 == run.settings.iterations
        step = partial(_candidate, run, bank, not last)
        through = await run.round(step, mode=mode_after(bank), depth=1 + (not last))
        if not last:
            bank = await _taken_in(run, bank, items_of(through))


async def _candidate(run: Run, bank: Bank, distilled: bool, blank: Rollout) -> Rollout:
    if bank:
        noted = [Noted(item, Entry(item.id, 0), place) for place, item in enumerate(bank, 1)]
        shown = Shown(experience=tuple(fitted(noted, run.settings.experience_tokens)))
        rollout = await write(run, blank, "methods/guided", shown)
    else:
        rollout = await write(run, blank)
    return await _distilled(run, rollout) if distilled else rollout


async def _distilled(run: Run, rollout: Rollout) -> Rollout:
    """The rollout with the items of its own as its summary."""
    if rollout.outcome != "open":
        return rollout
    most, text = experience.MOST_ITEMS, rollout.solution
    asked = prompt(run.prompts, "methods/distil", run.problem, solution=text, items=most)
    rollout, replies = await ask(run, rollout, "experience", asked)
    return replace(rollout, summary="\n".join(replies[0].lines))


def items_of(rollouts: Sequence[Rollout]) -> list[Item]:
    """The conclusions and pitfalls that `rollouts` were distilled into."""
    read = [item for r in rollouts for item in experience.parse(Reply(r.summary)).added]
    return [item for item in read if item.kind != "technique"]


async def _taken_in(run: Run, bank: Bank, items: Sequence[Item]) -> Bank:
    if run.settings.methods.rse.merge == "guards":
        return (*await asyncio.to_thread(new_items, items, bank), *bank)
    texts = list(dict.fromkeys(item.text for item in (*items, *bank)))
    vectors = await embedder_of(run.settings.embeddings).embed(texts)
    return await asyncio.to_thread(
        as_published, items, bank, dict(zip(texts, vectors, strict=True))
    )


def as_published(items: Sequence[Item], bank: Bank, vectors: Mapping[str, Sequence[float]]) -> Bank:
    """`items`, then those of the bank, the longest first; none that is like one before it.

    Alike are two of a kind if one is part of the other, or by the cosine of their unit `vectors`.
    """
    arrays = {text: np.asarray(vector) for text, vector in vectors.items()}
    kept: list[Item] = []
    for group in (items, bank):
        for item in sorted(group, key=lambda item: len(item.text), reverse=True):
            rivals = [one for one in kept if one.kind == item.kind]
            if not any(_alike(item.text, one.text, arrays) for one in rivals):
                kept.append(item)
    return tuple(kept)


def _alike(one: str, other: str, arrays: Mapping[str, np.ndarray]) -> bool:
    return one in other or other in one or float(arrays[one] @ arrays[other]) > _ALIKE


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    return settings.candidates * (2 * settings.iterations - 1)


build = method(rse, Rule("majority", "last"))
