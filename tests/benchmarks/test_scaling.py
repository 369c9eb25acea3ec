"""The curves: what is run, how it is summed up, and that knowledge flows from agent to agent."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import curves, promises, scaling_plots, scaling_runs, voting_rules
from benchmarks.arms import GRIDS, NOISES, Entrant, Job, Size, compared, gridded, planned
from benchmarks.reasoner import sketch
from benchmarks.reasoner.direct import Reasoner
from benchmarks.reasoner.play import Player
from benchmarks.reasoner.runs import Ballot, Made, Point, solved
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.world import Nature, question, world
from tmas_graph.settings import Settings

SIZE = Size(candidates=3, verifications=3, iterations=3)


def runs(*rights: float) -> list[list[Point]]:
    """One run of a problem, whose tokens grow by a million an iteration."""
    return [[Point(r, r, (t + 1) * 10**6, t + 1) for t, r in enumerate(rights)]]


def everything(**changed: float) -> curves.Found:
    """Five problems for every entrant, with how it ends for those that are named."""
    entrants = [*compared(SIZE), *gridded(SIZE)]
    ends = {entrant.name: 0.2 for entrant in entrants} | {"tmas": 0.9}
    ends |= {name.replace("_", "-"): end for name, end in changed.items()}
    return {
        name: {f"p{k}": runs(0.0, 0.1, end + 0.01 * k) for k in range(5)}
        for name, end in ends.items()
    }


def verdicts(found: curves.Found) -> dict[str, str]:
    kept = promises.judged(found, NOISES)
    return {one.text: one.verdict for one in kept if one.measure == "Pass@1"}


def test_a_promise_holds_only_if_the_whole_interval_is_on_its_side() -> None:
    found = verdicts(everything(tmas_no_experience=0.9, tmas_no_guideline=0.95))
    assert found["removing the experience bank costs accuracy"] == "undecided"
    assert found["removing the guideline bank costs accuracy"] == "does not hold"
    assert found["ε 0.2 beats ε 0"] == found["ε 0.2 beats ε 1"] == "holds"
    assert found["TMAS: its last iteration beats its first"] == "holds"


def test_more_candidates_and_checks_are_to_help() -> None:
    more = {"tmas[candidates=12]": 0.95, "tmas[verifications=16]": 0.1}
    found = verdicts(everything(**more))
    assert (found["N 12 beats N 2"], found["M 16 beats M 1"]) == ("holds", "does not hold")


def test_a_cliff_is_seen() -> None:
    assert verdicts(everything())["no cliff: the step to noise 0.25"] == "does not hold"
    gradual = {f"tmas, noise {n:g}": 0.9 - 0.7 * n for n in NOISES}
    found = everything(**gradual)
    assert {verdicts(found)[f"no cliff: the step to noise {n:g}"] for n in NOISES} == {"holds"}


def test_a_run_that_ended_early_stands_as_at_its_end() -> None:
    early = {"p0": runs(0.0, 1.0)}
    assert curves.by_problem(early, curves.right, 7) == {"p0": 1.0}


def test_figures_have_the_spread_over_problems() -> None:
    found = curves.mean([0.0, 1.0, 0.0, 1.0])
    assert (found.value, found.error) == (0.5, pytest.approx(0.2887, abs=1e-4))


def test_tables_and_plots_are_made_of_it(tmp_path: Path) -> None:
    found = everything()
    assert curves.table(found).row_count == len(found)
    assert promises.table(promises.judged(found, NOISES)).row_count
    names = ["tmas", "tmas-neither", "rsa", "rse"]
    scaling_plots.draw_all(found, names, GRIDS, NOISES, SIZE, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        "scaling-ablations.png", "scaling-grids.png", "scaling-rivals.png",
    }  # fmt: skip


def test_each_run_is_planned_once_and_grids_leave_out_what_is_compared_anyway() -> None:
    entrants = [*compared(Size()), *gridded(Size())]
    keys = [job.key for job in planned(entrants, Size(), 3, 2)]
    assert len(keys) == len(set(keys))
    assert "tmas[epsilon=0.2]" not in {entrant.name for entrant in gridded(SIZE)}


def test_without_more_ado_the_most_telling_entrants_are_run() -> None:
    few, all_of_them = ({e.name for e in compared(Size(), whole=w)} for w in (False, True))
    assert few < all_of_them
    assert {e.name for e in gridded(Size(), whole=False)} < {e.name for e in gridded(Size())}


def ballots(*given: tuple[int, str, float]) -> list[Ballot]:
    return [Ballot(t, n, answer, score) for n, (t, answer, score) in enumerate(given)]


def test_rules_of_choosing_differ_where_many_bad_votes_stand_against_few_good_ones() -> None:
    cast = ballots((0, "1", 0.5), (0, "1", 0.5), (1, "1", 0.5), (1, "2", 1.0))
    for rule, answer in {
        "power 2": "2", "majority": "1", "best score": "2", "mean score": "2",
        "last iteration": "2",
    }.items():  # fmt: skip
        assert voting_rules.choice(cast, voting_rules.RULES[rule]) == answer
    assert voting_rules.choice(cast, voting_rules.PLAIN) == "1"


def test_rules_are_compared_for_each_kind_of_tmas_and_over_all() -> None:
    right = str(world(question(0)[0], Nature()).answer)
    run = Made((), tuple(ballots((0, "1", 0.5), (0, "1", 0.5), (0, "1", 0.5), (0, right, 1.0))))
    names = ("tmas", "tmas-neither", "rsa")
    rows = voting_rules.compared({Job(Entrant(name), 0, 0, SIZE): run for name in names})
    better = [row for row in rows if row.rule == "power 2"]
    assert {row.entrant: row.value for row in better} == {
        "tmas": 1, "tmas-neither": 1, "all of them": 1,
    }  # fmt: skip
    assert voting_rules.table(rows).row_count == 3


def test_runs_that_the_file_holds_are_not_made_again(tmp_path: Path) -> None:
    file = tmp_path / "scaling.jsonl"
    jobs = [Job(Entrant("chain-of-thought"), n, 0, SIZE) for n in range(2)]
    first = scaling_runs.all_runs(jobs[:1], 1, file)
    text = file.read_text()
    assert scaling_runs.all_runs(jobs[:1], 1, file) == first
    assert file.read_text() == text
    assert scaling_runs.all_runs(jobs, 1, file).keys() == {*jobs}


def test_a_line_that_was_cut_off_is_a_run_that_was_not_made(tmp_path: Path) -> None:
    file = tmp_path / "scaling.jsonl"
    jobs = [Job(Entrant("chain-of-thought"), n, 0, SIZE) for n in range(2)]
    both = scaling_runs.all_runs(jobs, 1, file)
    text = file.read_text()
    file.write_text(text[:-20])
    assert [*scaling_runs.kept(file)] == [jobs[0].key]
    assert scaling_runs.all_runs(jobs, 1, file) == both
    assert file.read_text() == text


def test_when_the_time_is_over_no_run_is_begun(tmp_path: Path) -> None:
    jobs = [Job(Entrant("chain-of-thought"), 0, 0, SIZE)]
    assert scaling_runs.all_runs(jobs, 1, tmp_path / "none.jsonl", seconds=0) == {}


def pass_at_1(method: str, skill: Skill, settings: Settings) -> float:
    """Of the last iteration, over a few problems that one strategy alone makes hard."""

    async def all_of_them() -> list[tuple[Point, ...]]:
        reasoner = Reasoner(Player(skill))
        made = [await solved(number, method, settings, reasoner) for number in range(4)]
        return [run.points for run in made]

    ends = [run[-1].right for run in asyncio.run(all_of_them())]
    return sum(ends) / len(ends)


def test_values_that_the_experience_bank_carries_make_solutions_right() -> None:
    easy = Nature(strategies=2, viable=2, easy=1.0, shared_values=5, own_values=0)
    skill = replace(Skill(nature=easy), derives=0.6)
    settings = Size(candidates=3, verifications=4, iterations=3).settings(0)
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
