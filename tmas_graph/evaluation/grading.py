"""Grades answers by rules and, if asked, by a judge model where the rules can't tell."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tmas_graph.agents.judge import Judgement, judge
from tmas_graph.answers.equivalence import TIMEOUT, agrade
from tmas_graph.answers.extract import after_thinking, answer_of, gold_answer
from tmas_graph.answers.verdict import Verdict
from tmas_graph.errors import RequestRefused
from tmas_graph.models import pool
from tmas_graph.models.replies import Model
from tmas_graph.prompts import Prompts
from tmas_graph.settings import Settings

if TYPE_CHECKING:  # it loads scipy, which solving a problem has no use for
    from tmas_graph.evaluation.metrics import Status


@dataclass(frozen=True, slots=True)
class Graded:
    """The rules' verdict and, apart from it, the judge's opinion."""

    verdict: Verdict
    judgement: Judgement | None = None
    """None where no judge was asked: the rules could tell, or it is off."""

    @property
    def status(self) -> "Status":
        """How it counts: the judge's word holds where the rules are unsure."""
        judged = self.judgement
        if self.verdict.outcome == "unsure" and judged and judged.opinion != "unreadable":
            return judged.opinion
        return self.verdict.outcome

    @property
    def accepted(self) -> bool:
        """Do the rules accept it or, where they are unsure, does the judge?"""
        return self.status == "correct"


async def graded(
    pred: str,
    gold: str,
    *,
    question: str = "",
    judge_by: Model | None = None,
    prompts: Prompts | None = None,
    seconds: float = TIMEOUT,
) -> Graded:
    """Grade `pred`; ask `judge_by`, if given, only where the rules are unsure.

    Raises:
        EndpointDown: the judge's endpoint can't be reached.
    """
    verdict = await agrade(pred, gold, timeout=seconds)
    if verdict.outcome != "unsure" or judge_by is None:
        return Graded(verdict)
    answer = answer_of(pred) or after_thinking(pred) or ""
    ask = partial(judge, judge_by, prompts or Prompts(), question)
    try:
        return Graded(verdict, await ask(answer, gold_answer(gold)))
    except RequestRefused as error:
        return Graded(verdict, Judgement("unreadable", str(error)))


async def judge_of(settings: Settings) -> Model:
    """The judge's model, made sure to answer.

    Raises:
        CallError: it doesn't, with what to do.
    """
    client = await pool.connect(settings.endpoint("judge"))
    await client.check()
    return client
