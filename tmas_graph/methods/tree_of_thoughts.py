"""Tree of thoughts (Yao et al., arXiv 2305.10601), breadth first: steps, their values, the best b.

Carried between iterations: the `breadth` best partial solutions. An iteration samples `children`
next steps for each and values each of these `values` times. Calls per problem: at most
(1 + (depth − 1) · breadth) · children · (1 + values). The answer is that of the best leaf.

Departures from the paper:
1. A step is one deduction, calculation or case of a proof or derivation (the paper has its own rule
   for each of its games); one that ends with a boxed answer, or a proof with QED, is a leaf.
2. The value is the sum of 20 for sure, 1 for likely and 0.001 for impossible, as published; one
   that can't be read adds nothing. As a score they count 1, 0.5 and 0.
3. Leaves stay among the best until only leaves are left.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tmas_graph.agents.fitting import prompt
from tmas_graph.answers.extract import last_boxed
from tmas_graph.models.replies import Reply
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import ask, write
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Problem, Rollout, Verification

LONGEST_STEP = 120
"""Words that a step is told to have at most."""
_SCORES = {"sure": 1.0, "likely": 0.5, "impossible": 0.0}
_VALUES = {1.0: 20.0, 0.5: 1.0, 0.0: 0.001}
_QED = re.compile(r"(?:\AQED|\nQED|∎)[.\s*$]*\Z")


async def tree_of_thoughts(run: Run) -> None:
    """Grow the tree level by level."""
    own, kept = run.settings.methods.tree_of_thoughts, [Rollout(-1, 0, "initial")]
    for _ in range(own.depth):
        open_ones = [node for node in kept if not node.solution]
        count = len(open_ones) * own.children
        through = await run.round(partial(_candidate, run, open_ones), count=count, depth=2)
        kept = best_of([*(n for n in kept if n.solution), *through], own.breadth) or open_ones
        if all(node.solution for node in kept):
            return


async def _candidate(run: Run, parents: Sequence[Rollout], blank: Rollout) -> Rollout:
    children = run.settings.methods.tree_of_thoughts.children
    return await _valued(run, await _step(run, blank, parents[blank.index // children]))


async def _step(run: Run, blank: Rollout, parent: Rollout) -> Rollout:
    """A child of `parent`: a leaf has a solution, another one its steps as its summary."""
    given: dict[str, object] = {"steps": parent.summary, "words": LONGEST_STEP}
    child = await write(run, blank, "methods/thought", given=given)
    if child.outcome != "open":
        return child
    text = "\n\n".join(filter(None, (parent.summary, child.solution.strip())))
    leaf = is_leaf(child.solution, run.problem)
    # An answer that isn't boxed was mentioned on the way.
    return replace(
        child, solution=text if leaf else "", summary=text, answer=child.answer if leaf else None
    )


async def _valued(run: Run, child: Rollout) -> Rollout:
    if child.outcome != "open":
        return child
    passes = run.settings.methods.tree_of_thoughts.values
    asked = prompt(run.prompts, "methods/value", run.problem, steps=child.summary)
    child, replies = await ask(run, child, "verification", asked, n=passes)
    read = tuple(map(value_of, replies))
    missing = (Verification("", None),) * (passes - len(read))
    return replace(child, verifications=read + missing)


def is_leaf(step: str, problem: Problem) -> bool:
    """Whether `step` ends the solution."""
    if problem.kind == "proof":
        return _QED.search(step.rstrip()) is not None
    return last_boxed(step) is not None


def value_of(reply: Reply) -> Verification:
    r"""Read sure, likely or impossible from the last `\boxed{}` of a whole reply."""
    boxed = last_boxed(reply.text) if reply.whole else None
    word = re.sub(r"\\(?:text|mathrm|textbf)\{(.*)\}", r"\1", boxed or "").strip(" .$*").lower()
    return Verification("", _SCORES.get(word))


def value(node: Rollout) -> float:
    """The published value of a node: its samples, summed."""
    return sum(_VALUES.get(v.score, 0.0) for v in node.verifications if v.score is not None)


def best_of(nodes: Sequence[Rollout], breadth: int) -> list[Rollout]:
    """The `breadth` nodes of the highest value, each text once; of equals the earlier ones."""
    unique = dict[str, Rollout]()
    for node in nodes:
        unique.setdefault(node.summary, node)
    return sorted(unique.values(), key=value, reverse=True)[:breadth]


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    own = settings.methods.tree_of_thoughts
    nodes = (1 + (own.depth - 1) * own.breadth) * own.children
    return nodes * (1 + own.values)


build = method(tree_of_thoughts, Rule("best"))
