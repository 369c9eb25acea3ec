"""The curves: what is run, how it is summed up, and that knowledge flows from agent to agent."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import curves, promises, scaling, scaling_plots
from benchmarks.reasoner import sketch
from benchmarks.reasoner.direct import Reasoner
from benchmarks.reasoner.play import Player
from benchmarks.reasoner.runs import Point, solved
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.world import Nature
from tmas_graph.settings import Settings

SIZE = scaling.Size(candidates=3, verifications=3, iterations=3)


def runs(*rights: float) -> list[list[Point]]:
    """One run of a problem, whose tokens grow by a million an iteration."""
    return [[Point(r, r, (t + 1) * 10**6, t + 1) for t, r in enumerate(rights)]]


def everything(**changed: float) -> curves.Found:
    """Five problems for every entrant, with how it ends for those that are named."""
    entrants = [*scaling.compared(SIZE), *scaling.gridded(SIZE)]
    ends = {entrant.name: 0.2 for entrant in entrants} | {"tmas": 0.9}
    ends |= {name.replace("_", "-"): end for name, end in changed.items()}
    return {
        name: {f"p{k}": runs(0.0, 0.1, end + 0.01 * k) for k in range(5)}
        for name, end in ends.items()
    }


def verdicts(found: curves.Found) -> dict[str, str]:
    kept = promises.judged(found, scaling.NOISES)
    return {one.text: one.verdict for one in kept if one.measure == "Pass@1"}


def test_a_promise_holds_only_if_the_whole_interval_is_on_its_side() -> None:
    found = verdicts(everything(tmas_no_experience=0.9, tmas_no_guideline=0.95))
    assert found["removing the experience bank costs accuracy"] == "undecided"
    assert found["removing the guideline bank costs accuracy"] == "does not hold"
    assert found["ε 0.2 beats ε 0"] == found["ε 0.2 beats ε 1"] == "holds"
    assert found["TMAS: its last iteration beats its first"] == "holds"


def test_a_cliff_is_seen() -> None:
    assert verdicts(everything())["no cliff: the step to noise 0.25"] == "does not hold"
    gradual = {f"tmas, noise {n:g}": 0.9 - 0.7 * n for n in scaling.NOISES}
    found = everything(**gradual)
    assert {verdicts(found)[f"no cliff: the step to noise {n:g}"] for n in scaling.NOISES} == {
        "holds"
    }


def test_a_run_that_ended_early_stands_as_at_its_end() -> None:
    early = {"p0": runs(0.0, 1.0)}
    assert curves.by_problem(early, curves.right, 7) == {"p0": 1.0}


def test_figures_have_the_spread_over_problems() -> None:
    found = curves.mean([0.0, 1.0, 0.0, 1.0])
    assert (found.value, found.error) == (0.5, pytest.approx(0.2887, abs=1e-4))


def test_tables_and_plots_are_made_of_it(tmp_path: Path) -> None:
    found = everything()
    assert curves.table(found).row_count == len(found)
    assert promises.table(promises.judged(found, scaling.NOISES)).row_count
    names = [entrant.name for entrant in scaling.compared(SIZE)]
    scaling_plots.draw_all(found, names, scaling.GRIDS, scaling.NOISES, SIZE, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        "ablations.png", "grids.png", "rivals.png",
    }  # fmt: skip


def test_each_run_is_planned_once_and_grids_leave_out_what_is_compared_anyway() -> None:
    keys = [job.key for job in scaling.planned(scaling.Size(), 3, 2, 2)]
    assert len(keys) == len(set(keys))
    assert "tmas[epsilon=0.2]" not in {entrant.name for entrant in scaling.gridded(SIZE)}


def test_runs_that_the_file_holds_are_not_made_again(tmp_path: Path) -> None:
    file = tmp_path / "scaling.json"
    jobs = [scaling.Job(scaling.Entrant("chain-of-thought"), n, 0, SIZE) for n in range(2)]
    first = scaling.all_runs(jobs[:1], 1, file)
    text = file.read_text()
    assert scaling.all_runs(jobs[:1], 1, file) == first
    assert file.read_text() == text
    assert set(scaling.all_runs(jobs, 1, file)["chain-of-thought"]) == {"p0", "p1"}


def pass_at_1(method: str, skill: Skill, settings: Settings) -> float:
    """Of the last iteration, over a few problems that one strategy alone makes hard."""

    async def all_of_them() -> list[list[Point]]:
        reasoner = Reasoner(Player(skill))
        return [await solved(number, method, settings, reasoner) for number in range(6)]

    ends = [run[-1].right for run in asyncio.run(all_of_them())]
    return sum(ends) / len(ends)


def test_values_that_the_experience_bank_carries_make_solutions_right() -> None:
    easy = Nature(strategies=2, viable=2, easy=1.0, shared_values=5, own_values=0)
    skill = replace(Skill(nature=easy), derives=0.6)
    settings = scaling.Size(candidates=3, verifications=4, iterations=3).settings(0)
    alone, carried = (
        pass_at_1(m, skill, settings) for m in ("self-consistency[candidates=9]", "tmas[epsilon=0]")
    )
    assert carried > 2 * alone


def test_the_sketch_carries_values_too() -> None:
    easy = Nature(strategies=2, viable=2, easy=1.0, shared_values=5, own_values=0)
    skill = replace(Skill(nature=easy), derives=0.6)
    shape = sketch.Shape(candidates=3, verifications=4, iterations=3, epsilon=0.0)
    runs_of = [sketch.run(number, 0, skill, shape) for number in range(20)]
    first, last = (sum(run[t].right for run in runs_of) for t in (0, -1))
    assert last > 2 * first
    assert sketch.run(3, 0, skill, shape) == runs_of[3]
