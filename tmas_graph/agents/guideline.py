"""The Guideline agent: the high-level strategies that were tried.

It says one thing a line: a new strategy, or that one that it was shown was used again, each with
the numbers of the attempts and how it ended. What can't be read is left out, never guessed.
"""

from collections.abc import Iterator, Sequence

from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.agents.strategy_lines import Line, read
from tmas_graph.memory.guideline_bank import Listed, Report, Reports
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Prompts
from tmas_graph.state import Problem, Rollout, Strategy

MOST_STRATEGIES = 16
"""New strategies taken from one reply."""
LONGEST_NAME = 120
"""Characters; what is longer is no name."""
LONGEST_ESSENCE = 400
"""Characters; longer ones are cut, for the list is part of every checkpoint."""
LONGEST_OUTCOME = 200
"""Characters; longer ones are cut."""
_NOTHING = {"", "none", "n/a", "nothing", "nothing new", "name"}


async def name_strategies(
    model: Model, prompts: Prompts, problem: Problem, rollouts: Sequence[Rollout], known: Listed
) -> Reply:
    """Ask which strategies the rollouts used, the `known` ones among them."""
    shown = Shown(rollouts=tuple(rollouts), strategies=known)
    return (await model(prompt(prompts, "guideline", problem, shown)))[0]


def parse(reply: Reply, known: Sequence[Strategy] = (), attempts: int = 0) -> Reports:
    """What a reply to a prompt with so many `attempts` and the `known` strategies says.

    Texts are kept byte for byte, but for what is cut at the end of long ones; the last line of a
    cut reply is dropped.
    """
    said: list[Report] = []
    new = unknown = 0
    for line in (read(text, [s.name for s in known], attempts) for text in _lines(reply)):
        unknown += line.unknown
        if line.unused:
            continue
        if line.listed:
            said += [_report(line, number) for number in line.listed]
        elif _is_name(line.name) and new < MOST_STRATEGIES:
            said.append(_report(line))
            new += 1
    return Reports(tuple(said), unknown)


def _lines(reply: Reply) -> Iterator[str]:
    # Whatever may begin a line for a model or a terminal ends one: none gets into strategies.
    for line in reply.lines:
        yield from line.splitlines()


def _is_name(name: str) -> bool:
    return len(name) <= LONGEST_NAME and name.rstrip(".").lower() not in _NOTHING


def _report(line: Line, number: int | None = None) -> Report:
    outcome = _cut(line.outcome, LONGEST_OUTCOME)
    if number is not None:
        return Report(attempts=line.attempts, outcome=outcome, listed=number)
    return Report(line.name, _cut(line.essence, LONGEST_ESSENCE), line.attempts, outcome)


def _cut(text: str, longest: int) -> str:
    """`text`, if it is too long up to the last space that fits."""
    if len(text) <= longest:
        return text
    return (text[:longest].rpartition(" ")[0] or text[:longest]) + " …"
