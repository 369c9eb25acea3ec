"""The Experience agent: low-level results, techniques and pitfalls out of the rollouts."""

import re
from collections.abc import Sequence
from typing import cast

from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.memory.experience_bank import Item, ItemKind
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Prompts
from tmas_graph.state import Problem, Rollout

MOST_ITEMS = 16
"""Items taken from one reply."""
_KINDS = "conclusion|technique|pitfall"
_LINE = re.compile(
    r"^\s*+(?:[-*•+]|\d+[.)])?\s*+[*_`]*+"
    rf"(?:\\?[\[(]\s*+(?P<boxed>{_KINDS})s?\s*+\\?[\])][*_`]*+(?:\s*+:)?"
    rf"|(?P<bare>{_KINDS})[*_`]*+\s*+:)"
    r"[*_`]*+\s*+(?P<text>\S.*)$",
    re.IGNORECASE,
)
_NOTHING = {"none", "n/a", "nothing new", "nothing"}
_LONGEST_ITEM = 2000


async def extract(
    model: Model,
    prompts: Prompts,
    problem: Problem,
    rollouts: Sequence[Rollout],
    known: Sequence[Item],
) -> Reply:
    """Ask for what the next attempts can reuse and is not among the `known` items."""
    shown = Shown(rollouts=tuple(rollouts), experience=tuple(known))
    return (await model(prompt(prompts, "experience", problem, shown, items=MOST_ITEMS)))[0]


def parse(reply: Reply) -> tuple[Item, ...]:
    """The items of a reply, one a line, byte for byte; the last line of a cut reply is dropped."""
    items: dict[str, Item] = {}
    for found in filter(None, map(_LINE.match, reply.lines)):
        kind, text = (found["boxed"] or found["bare"]).lower(), found["text"].rstrip()
        if len(text) <= _LONGEST_ITEM and text.rstrip(".").lower() not in _NOTHING:
            item = Item(cast(ItemKind, kind), text)
            items.setdefault(item.id, item)
    return tuple(items.values())[:MOST_ITEMS]
