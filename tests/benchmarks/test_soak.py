"""The soak in small, and what it concludes from what it saw."""

from pathlib import Path

import pytest

from benchmarks.soak import options, soaked, table
from benchmarks.soak_checks import Repeated, repeated, slope
from benchmarks.soak_sittings import Sample, Sitting


@pytest.mark.early
@pytest.mark.timeout(600)
def test_killed_in_the_midst_of_faults_a_run_ends_with_every_problem_once(tmp_path: Path) -> None:
    faults = "--errors=0.1 --hangs=0.02 --cuts=0.05 --stall=3"
    pace = "--latency=0.2 --concurrency=8 --kill-every=1.5 --grace=60"
    given = options(f"--problems=5 {pace} {faults}".split())
    found = soaked(given, tmp_path)
    claims = {claim: holds for claim, holds in found["claims"].items() if "flat" not in claim}
    assert claims == dict.fromkeys(claims, True), found
    assert found["server"]["error"] > 0
    assert table(found).row_count > len(claims)


def test_an_answer_just_before_a_kill_is_lost_by_right_and_no_other() -> None:
    answers = [("a", 9.95), ("b", 8.0), ("c", 10.02), ("d", 9.0), ("a", 12.0), ("b", 12.0)]
    answers += [("c", 13.0), ("a", 13.0)]
    found = repeated(answers, [10.0], 0.1)
    assert found == Repeated(2, 2, pytest.approx([0.0, 0.05, 2.0]))
    assert found.lead(0.5) == pytest.approx(0.05)


def test_growth_is_that_within_sittings() -> None:
    def sitting(base: float) -> Sitting:
        return Sitting([Sample(n, n, base + 0.002 * n, 30) for n in range(100)])

    made = [sitting(100), sitting(300)]
    assert slope(made, "megabytes") == pytest.approx(2.0)
    assert slope(made, "descriptors") == pytest.approx(0.0)
    assert slope([Sitting()], "megabytes") is None


def test_growth_of_many_killed_sittings_is_that_from_one_to_the_next() -> None:
    def sitting(base: float) -> Sitting:
        return Sitting([Sample(n, n, base + n, 30) for n in range(101)], killed=1.0)

    made = [*map(sitting, range(300, 304)), Sitting([Sample(1, 1, 900, 90)])]
    assert slope(made, "megabytes") == pytest.approx(10.0)
    assert slope(made, "descriptors") == pytest.approx(0.0)
