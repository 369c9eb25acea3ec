"""What durability costs, in small: the two ways make the same calls."""

from pathlib import Path

import pytest

from benchmarks.overhead import verdicts
from benchmarks.overhead_runs import Workload, durable, plain
from benchmarks.quick.process import quick_server


@pytest.mark.timeout(600)
def test_plain_asyncio_makes_the_same_calls_for_less(tmp_path: Path) -> None:
    with quick_server() as url:
        work = Workload(url, 3, candidates=2, verifications=2)
        run = durable(work, tmp_path / "x")
        again = [plain(work, tmp_path / "x", ahead=ahead) for ahead in (True, False)]
    for one in again:
        assert (one.calls, one.replies, one.reply_bytes) == (
            run.calls,
            run.replies,
            run.reply_bytes,
        )
        assert one.cpu < run.cpu
    assert run.calls == 3 * 2 * (2 * 3 + 2)
    assert run.in_flight == 3
    assert run.database > 0


def test_each_reply_may_be_a_call_of_its_own(tmp_path: Path) -> None:
    with quick_server() as url:
        work = Workload(url, 1, candidates=2, verifications=3, together=False)
        run = durable(work, tmp_path / "x")
    assert run.calls == run.replies == 2 * (2 * (1 + 3 + 1) + 2)


def test_time_is_judged_by_single_replies_and_size_by_replies_together() -> None:
    rows = [{"ms_per_call": 3.9 + i, "bytes_per_reply_byte": 2.9 + i / 10} for i in range(4)]
    assert [said.partition(":")[0] for said in verdicts(rows)] == ["met", "MISSED"]
