import asyncio
import time

import pytest
from conftest import rows, shared
from hostile import hostile

from tmas_graph.answers.equivalence import agrade, grade
from tmas_graph.answers.workers import MEMORY_MB, pool

LIMIT = 2.0
GOLDS = ("1", r"\sqrt{2}+x", "1, 2, 3")
pytestmark = pytest.mark.usefixtures("fresh_verdicts")


@pytest.fixture(autouse=True)
def warm_worker():
    grade("x", "1+y")


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


def test_hostile_predictions_return_in_time_and_touch_no_file(tmp_path):
    slow, accepted = [], []
    for number, text in enumerate(hostile(str(tmp_path))):
        start = time.perf_counter()
        verdict = grade(text, GOLDS[number % 3], timeout=LIMIT)
        if time.perf_counter() - start > LIMIT + 0.5:
            slow.append((number, text[:80]))
        if verdict.outcome == "correct":
            accepted.append((number, text[:80]))
        assert all(resident_mb(pid) < MEMORY_MB for pid in pool().pids())
    assert (slow, accepted) == ([], [])
    assert list(tmp_path.iterdir()) == []


def test_hostile_pairs_return_in_time_on_both_sides(tmp_path):
    texts = hostile(str(tmp_path))[::5]
    for one, two in zip(texts, texts[1:], strict=False):
        start = time.perf_counter()
        grade(one, two, timeout=LIMIT)
        assert time.perf_counter() - start < LIMIT + 0.5, (one[:80], two[:80])


def test_the_shared_hostile_cases_return_in_time():
    for case in rows(shared("grading", "cases.jsonl")):
        if case.get("hostile"):
            start = time.perf_counter()
            verdict = grade(case["pred"], case["gold"], timeout=LIMIT)
            assert time.perf_counter() - start < LIMIT + 0.5, case["id"]
            assert verdict.outcome != "correct" or case["expected"], case["id"]


def test_the_event_loop_is_never_held_up(tmp_path):
    async def longest_pause():
        texts = hostile(str(tmp_path))[::2]
        done = asyncio.gather(*(agrade(text, "1+x", timeout=LIMIT) for text in texts))
        longest, before = 0.0, time.perf_counter()
        while not done.done():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
        await done
        return longest

    assert asyncio.run(longest_pause()) < 0.05
