"""A method's run: rounds of candidates, how things stand after each, and the result.

Each candidate is a task of its own, so that the calls within it are told apart however fast others
come through; a finished one, and every finished call, is found again when the run goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from langgraph.func import task
from langgraph.types import StreamWriter

from tmas_graph import progress, spending
from tmas_graph.answers.select import Classes
from tmas_graph.answers.voting import group
from tmas_graph.errors import AllCandidatesFailed
from tmas_graph.events import of_candidate, of_standing
from tmas_graph.progress import attempt_of, evidence
from tmas_graph.prompts import Prompts
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule, chosen_by, stood, voters
from tmas_graph.state import Attempt, Mode, Problem, Result, Rollout, Spend, Standing, Stop
from tmas_graph.usage import Usage

Step = Callable[[Rollout], Awaitable[Rollout]]
"""Makes a candidate of a blank one; what is still open in the end came through."""


class Broken(Exception):
    """A candidate that a call broke off: `failed`, or `halted` by the budget."""

    def __init__(self, rollout: Rollout) -> None:
        """Carry what there is of it."""
        super().__init__(rollout.cause)
        self.rollout = rollout


class Halted(Exception):
    """The budget allows no further call; the run ends with what it has."""


@dataclass(slots=True)
class Run:
    """What a method works on, and what its rounds have come to so far."""

    problem: Problem
    settings: Settings
    tell: StreamWriter
    """Takes the run's events."""
    rule: Rule
    """How the answer is chosen."""
    iteration: int = 0
    """The one that runs or comes next; so many are done."""
    rollouts: list[Rollout] = field(default_factory=list)
    """Every candidate of the rounds so far."""
    standings: list[Standing] = field(default_factory=list)
    spend: list[spending.Row] = field(default_factory=list)
    aside: dict[str, Usage] = field(default_factory=dict)
    """What was spent by role for no single candidate, since the last round."""
    classes: Classes = ()

    @property
    def prompts(self) -> Prompts:
        """The templates in force."""
        return Prompts.of(self.settings)

    async def round(
        self, step: Step, *, count: int | None = None, mode: Mode | None = None, depth: int = 1
    ) -> tuple[Rollout, ...]:
        """Take `count` candidates (or N) through `step`; those that came through, in order.

        Args:
            step: makes a candidate of a blank one; they run side by side.
            count: how many.
            mode: `initial` if they see the problem alone, else `exploit`; by default the first
                round is the former, and all others the latter.
            depth: how many calls of the round wait for one another.

        Raises:
            AllCandidatesFailed: none came through; run again, it goes on from here.
            Halted: the budget is spent; it ends the method, which need not catch it.
        """
        mode = mode or ("exploit" if self.iteration else "initial")
        blanks = [
            Rollout(self.iteration, i, mode) for i in range(count or self.settings.candidates)
        ]
        modes = [blank.mode for blank in blanks]
        self.tell({"event": "iteration", "iteration": self.iteration, "modes": modes})
        made = await asyncio.gather(*(self._candidate(blank, step) for blank in blanks))
        through = tuple(r for r in made if r.outcome == "finished")
        if any(r.outcome == "halted" for r in made):
            await self._note([r for r in made if r.solution or r.outcome != "halted"], made)
            raise Halted
        if cause := progress.total_failure({"rollouts": made, "iteration": self.iteration}):
            raise AllCandidatesFailed(cause)
        await self._note(made, made)
        self._close(depth)
        return through

    async def _candidate(self, blank: Rollout, step: Step) -> Rollout:
        async def candidate() -> Rollout:
            made = await step(blank)
            return replace(made, outcome="finished") if made.outcome == "open" else made

        # By a name of its own it isn't taken for another, should a resumed run come by another way.
        candidate.__name__ = f"candidate {blank.iteration}.{blank.index}"
        self.tell(of_candidate("started", blank))
        try:
            made = await task(candidate)()
        except Broken as broken:  # not a value of the task: it is to be tried again on a resume
            made = broken.rollout
        self.tell(of_candidate("candidate", made))
        return made

    async def _note(self, kept: list[Rollout], made: list[Rollout]) -> None:
        self.rollouts += kept
        self.spend += spending.rows_of(self.iteration, made, self.aside)
        self.aside = {}
        answers = [r.answer for r in self.rollouts]
        self.classes = await asyncio.to_thread(group, answers, self.classes)

    def _close(self, depth: int) -> None:
        stands = stood(
            self.problem.kind,
            self.iteration,
            self.attempts,
            self.classes,
            rule=self.rule,
            depth=depth,
        )
        self.standings.append(stands)
        self.tell(of_standing(stands, spending.total(self.account)))
        self.iteration += 1

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every candidate so far, without its texts."""
        return tuple(map(attempt_of, self.rollouts))

    @property
    def account(self) -> tuple[Spend, ...]:
        """What each role has spent in each iteration."""
        return spending.account({"spend": self.spend})

    def result(self, stop: Stop) -> Result:
        """What the run has come to; of a round that was cut short, who wrote a solution counts.

        Where the last round alone chooses, one that was cut short doesn't if there is another.
        """
        tried = self.attempts
        if self.rule.pool != "all" and self.iteration:
            tried = tuple(a for a in tried if a.iteration < self.iteration)
        choice, behind = chosen_by(self.rule, tried, self.classes)
        if self.problem.kind == "proof":
            behind = voters(self.rule, tried)
        places = {(a.iteration, a.index) for a in behind}
        texts = [r for r in self.rollouts if r.solution and (r.iteration, r.index) in places]
        best = max(texts, key=evidence, default=None)
        score = best.score if best else None
        proof = self.problem.kind == "proof"
        return Result(
            answer=choice.answer,
            confidence=(score or 0.0) if proof else choice.confidence,
            solution=best.solution if best else "",
            score=score,
            iterations=self.iteration,
            stop=stop,
            usage=spending.total(self.account),
            spend=self.account,
            attempts=self.attempts,
            standings=tuple(self.standings),
        )
