"""What a candidate is shown besides the problem: the last rollouts and the banks, by its mode.

The one place that says so, for candidates that run and for prompts that are made again of a
recorded run.
"""

from tmas_graph.agents import solution
from tmas_graph.agents.fitting import Shown
from tmas_graph.memory.borrowing import borrowed_of
from tmas_graph.memory.experience_bank import ExperienceBank
from tmas_graph.memory.flaws import flaws
from tmas_graph.memory.guideline_bank import Listed, listed
from tmas_graph.memory.retrieval import Noted, Recalled, offered
from tmas_graph.settings import Settings
from tmas_graph.state import Memory, Problem


def to_exploit(memory: Memory, experience: tuple[Noted, ...], settings: Settings) -> Shown:
    """What an exploiting candidate sees: the last rollouts, best first, and `experience`."""
    return Shown(
        rollouts=solution.shown(memory.rollouts, settings.rollouts_tokens),
        experience=experience,
        borrowed=borrowed_of(memory.borrowed),
    )


def to_explore(memory: Memory, settings: Settings) -> Listed:
    """The strategies that an exploring candidate must avoid; none where that bank is off."""
    return listed(memory.strategies if settings.guideline else (), settings.guideline_tokens)


async def experience_for(
    problem: Problem, memory: Memory, settings: Settings, bank: ExperienceBank, known: Recalled
) -> tuple[Noted, ...]:
    """Those of the `known` items that help most now, best first; `bank` embeds what is asked for.

    They are near to the problem or to what the last checks found wrong, and leave room for what is
    borrowed.
    """
    wanted = [problem.question, *flaws(r.summary for r in memory.rollouts)]
    limit = settings.experience_limit
    if limit is not None:
        limit -= sum(one.tokens for one in borrowed_of(memory.borrowed))
    return tuple(await offered(bank, known, wanted, limit))
