import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tmas_graph.answers import workers
from tmas_graph.answers.workers import Worker, WorkerPool

HARD = r"\sum_{k=1}^{9999} \sqrt{k}^{1/3}+\sum_{k=1}^{9999}\sqrt[7]{k+\sqrt{k}}"


@pytest.fixture
def own_pool():
    pool = WorkerPool(1)
    yield pool
    pool.close()


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_zombie(pid):
    return os.path.exists(f"/proc/{pid}") and not is_running(pid)


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def decide(pool, pred, gold, limit=5.0):
    return pool.decide(pred, gold, directed=False, limit=limit)


def test_a_worker_serves_many_requests(own_pool):
    decide(own_pool, "x", "y")
    before = own_pool.pids()
    assert decide(own_pool, r"\sqrt{4}", "2").outcome == "correct"
    assert own_pool.pids() == before


def test_a_worker_that_takes_too_long_is_killed_and_replaced(own_pool):
    decide(own_pool, "x", "y")
    (before,) = own_pool.pids()
    start = time.perf_counter()
    verdict = decide(own_pool, HARD, HARD + "+0", limit=0.05)
    assert verdict.outcome == "error"
    assert "limit" in verdict.cause
    assert time.perf_counter() - start < 0.55
    assert not is_running(before)
    assert not is_zombie(before)
    assert decide(own_pool, r"\sqrt{4}", "2").outcome == "correct"


def test_a_worker_that_died_is_replaced(own_pool):
    decide(own_pool, "x", "y")
    (before,) = own_pool.pids()
    os.kill(before, signal.SIGKILL)
    assert wait_until(lambda: not is_running(before))
    assert decide(own_pool, r"\sqrt{4}", "2").outcome == "correct"


def test_a_worker_is_recycled(own_pool, monkeypatch):
    monkeypatch.setattr(workers, "RECYCLED_AFTER", 2)
    seen = set()
    for _ in range(4):
        decide(own_pool, "x", "y")
        seen.update(own_pool.pids())
    assert len(seen) == 2


def test_a_reply_that_was_not_waited_for_answers_no_later_request(own_pool, monkeypatch):
    decide(own_pool, "x", "y")

    def interrupted(stream):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(workers, "read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            decide(own_pool, r"\sqrt{4}", "2")
    assert decide(own_pool, r"\sqrt{4}", "3").outcome == "incorrect"


def test_a_forked_child_has_workers_of_its_own():
    script = textwrap.dedent(
        """
        import os, sys
        from tmas_graph.answers.equivalence import grade
        from tmas_graph.answers.workers import pool
        grade("x", "y+1")
        before = pool().pids()
        child = os.fork()
        if child == 0:
            same = pool().pids() == before or grade("sqrt(8)", "2sqrt(2)").outcome != "correct"
            sys.exit(3 if same else 0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, pool().pids() == before)
        """
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == ["0", "True"], ran.stderr


def test_ctrl_c_leaves_the_worker_alone(own_pool):
    decide(own_pool, "x", "y")
    (pid,) = own_pool.pids()
    os.kill(pid, signal.SIGINT)
    assert decide(own_pool, r"\sqrt{4}", "2").outcome == "correct"
    assert own_pool.pids() == [pid]


def test_the_pool_can_be_used_after_it_was_closed(own_pool):
    decide(own_pool, "x", "y")
    (pid,) = own_pool.pids()
    own_pool.close()
    assert not is_running(pid)
    assert own_pool.pids() == []
    assert decide(own_pool, r"\sqrt{4}", "2").outcome == "correct"


def test_a_worker_cannot_write_a_file(tmp_path):
    script = textwrap.dedent(
        f"""
        from tmas_graph.answers.worker import _limit
        _limit(1024)
        try:
            open({str(tmp_path / "touched")!r}, "w").write("x")
        except OSError:
            print("refused")
        """
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "refused" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_workers_end_with_a_parent_that_is_killed():
    script = textwrap.dedent(
        """
        import time
        from tmas_graph.answers.equivalence import grade
        from tmas_graph.answers.workers import pool
        grade("x", "y+1")
        print(*pool().pids(), flush=True)
        time.sleep(60)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as ran:
        pids = [int(pid) for pid in ran.stdout.readline().split()]
        assert pids
        ran.kill()
    assert wait_until(lambda: not any(map(is_running, pids)))


def test_ctrl_c_in_a_script_without_a_main_guard_leaves_no_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from tmas_graph.answers.equivalence import grade\n"
        "from tmas_graph.answers.workers import pool\n"
        "print(grade('sqrt(8)', '2sqrt(2)').outcome, *pool().pids(), flush=True)\n"
        "import time; time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ran:
        outcome, *pids = ran.stdout.readline().split()
        assert outcome == "correct"
        ran.send_signal(signal.SIGINT)
        ran.wait(10)
        assert "KeyboardInterrupt" in ran.stderr.read()
    assert wait_until(lambda: not any(is_running(int(pid)) for pid in pids))


def test_a_file_beside_the_script_does_not_reach_the_worker(tmp_path, monkeypatch):
    (tmp_path / "flint.py").write_text("raise SystemExit('wrong flint')")
    monkeypatch.chdir(tmp_path)
    worker = Worker()
    assert worker.alive
    worker.close()
