r"""How the synthetic reasoner checks: solutions, reviews, steps, candidates to pick from."""

from collections import Counter

from benchmarks.reasoner.reading import Read
from benchmarks.reasoner.solving import Solver, same_answer
from benchmarks.reasoner.statements import LOST, Claim, claims, finding, strategy_of


def verify(solver: Solver, seen: Read) -> str:
    """Redo each value of the solution; see some of the wrong ones, and doubt some right ones."""
    stated, strategy = dict(claims(seen.solution)), strategy_of(seen.solution)
    look, lines = solver.look(stated.items(), strategy), list[str]()
    for name, value in stated.items():
        if name in look.wrong:
            mine = solver.redone(name, value)
            lines.append(f"The step with ${name} = {value}$ fails; I get ${name} = {mine}$.")
        else:
            lines.append(f"I redid it, and ${name} = {value}$.")
    if look.lost:
        lines.append(f"The approach itself {LOST}: {strategy or 'it'} leaves a gap.")
    score = "1" if not look.faults else "0.5" if look.faults == 1 else "0"
    return "\n".join([*lines, solver.filler(), f"\\boxed{{{score}}}"])


def summarise(solver: Solver, seen: Read) -> str:
    """Say what most checks confirm, what several doubt and what they get instead.

    Several are two, or one of two checks, or a quarter of more than eight.
    """
    found = [finding(check) for check in seen.checks]
    confirmed = Counter(claim for one in found for claim in one.confirmed)
    doubted = Counter(claim for one in found for claim in one.doubted)
    instead = Counter(claim for one in found for claim in one.corrections)
    lost, many, sentences = sum(one.hopeless for one in found), len(found), list[str]()
    several = max(min(2, many / 2), many / 4)
    for name, stated in dict.fromkeys(claims(seen.solution)):
        claim = (name, stated)
        if doubted[claim] >= several:
            rather = max([(n, c[1]) for c, n in instead.items() if c[0] == name], default=None)
            other = f", and ${name} = {rather[1]}$ is found instead" if rather else ""
            counted = f"({doubted[claim]} of {many} checks)"
            sentences.append(f"${name} = {stated}$ is wrong {counted}{other}.")
        elif confirmed[claim] > doubted[claim]:
            sentences.append(f"${name} = {stated}$ is confirmed ({confirmed[claim]} of {many}).")
    if lost >= several:
        strategy = strategy_of(seen.solution)
        sentences.append(f"The approach ({strategy}) {LOST} ({lost} of {many}).")
    return " ".join(sentences) or "The checks find nothing definite."


def audit(solver: Solver, seen: Read) -> str:
    """Redo what a review finds wrong, and say whether its faults are real; or toss a coin."""
    named: list[Claim] = [c for check in seen.checks for c in finding(check).doubted]
    real = sum(solver.doubts(name, value) for name, value in named)
    if solver.rng.random() < solver.skill.coins:
        real = solver.rng.choice([0, len(named)])
    score = "1" if real == len(named) else "0.5" if real else "0"
    return f"Of {len(named)} faults that the review names I find {real}.\n\\boxed{{{score}}}"


def value(solver: Solver, seen: Read) -> str:
    """Look at the last step, and say where the steps may lead."""
    last = seen.steps.split("\n\n")[-1]
    finished = "\\boxed" in last
    if solver.look(claims(last), strategy_of(seen.steps)).faults:
        return "I doubt the last step. \\boxed{impossible}"
    return f"I find no error. \\boxed{{{'sure' if finished else 'likely'}}}"


def pick(solver: Solver, seen: Read) -> str:
    """Name the numbers of the solutions in which a look finds the fewest faults."""
    count = int(seen.task.removeprefix("pick the ").split(" ")[0])
    faults = {one.number: solver.look(one.claims, one.strategy).faults for one in seen.attempts}
    best = sorted(faults, key=lambda number: (faults[number], number))[:count]
    return f"These have the fewest faults: \\boxed{{{', '.join(map(str, best))}}}"


def judge(solver: Solver, seen: Read) -> str:
    """Say whether two answers state the same."""
    same = len(seen.answers) == 2 and same_answer(*seen.answers)
    return f"I compared them.\n\\boxed{{{'yes' if same else 'no'}}}"
