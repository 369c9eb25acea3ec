"""The Guideline agent: the high-level strategies that were tried."""

import re
from collections.abc import Sequence

from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Prompts
from tmas_graph.state import Problem, Rollout, Strategy

MOST_STRATEGIES = 16
"""Strategies taken from one reply."""
_LINE = re.compile(
    r"^\s*+(?:[-*•+]\s|\d+[.)]|(?=\*\*))\s*+[*_]*+(?:NAME\s*+:)?[*_]*+\s*+"
    r"(?P<name>\S.{,199}?)(?:[*_]{,4}\s?[:–—][*_]*+|\s-)\s++(?P<essence>\S.*)$"
)
_LONGEST_NAME = 120
_LONGEST_ESSENCE = 1000


async def name_strategies(
    model: Model,
    prompts: Prompts,
    problem: Problem,
    rollouts: Sequence[Rollout],
    known: Sequence[Strategy],
) -> Reply:
    """Ask for the strategies of the rollouts that are not among the `known` ones."""
    shown = Shown(rollouts=tuple(rollouts), strategies=tuple(known))
    return (await model(prompt(prompts, "guideline", problem, shown)))[0]


def parse(reply: Reply, iteration: int) -> tuple[Strategy, ...]:
    """The strategies of a reply, one a line; the last line of a cut reply is dropped."""
    strategies = [
        Strategy(name, essence, (iteration,))
        for found in filter(None, map(_LINE.match, reply.lines))
        if (name := found["name"].strip("*_ []")) and (essence := found["essence"].strip())
        if len(name) <= _LONGEST_NAME and len(essence) <= _LONGEST_ESSENCE
        if name.upper() != "NONE"
    ]
    return tuple(strategies[:MOST_STRATEGIES])
