"""`tmas run --executor ray` on a real cluster of this machine, whose nodes and drivers are killed.

Nothing is timed: the server is stopped in its midst, and killed is who has stored what it got.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server
from runs_on_script import METHODS, problems_file, rows

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]
KEY = "k3y-that-stays-in-memory"
SMALL = ("-N", "2", "-M", "2", "-T", "2", "--set", "concurrency=6", "--set", "attempts=1")


@dataclass
class Stoppable:
    """The script of a server that the test stops in its midst."""

    script: Reasoner = field(default_factory=lambda: Reasoner().short())
    goes_on: threading.Event = field(default_factory=threading.Event)

    def __call__(self, request: Request, choice: int) -> ScriptedReply:
        assert self.goes_on.wait(600)
        return self.script(request, choice)


def begun_cluster() -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    clusters = pytest.importorskip("ray.cluster_utils", reason="needs the extra `ray`")
    head = {"num_cpus": 0, "include_dashboard": False}
    made = clusters.Cluster(initialize_head=True, head_node_args=head)
    made.add_node(num_cpus=2)
    return made


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without processors, and one node."""
    made = begun_cluster()
    yield made
    made.shutdown()


@pytest.fixture
def script() -> Stoppable:
    made = Stoppable()
    made.goes_on.set()
    return made


@pytest.fixture
def at(script: Stoppable) -> Iterator[ScriptedServer]:
    with server(script=script, role_of=role_of, key=KEY, latency=0.01) as it:
        yield it
        script.goes_on.set()


@dataclass(frozen=True)
class Place:
    """A folder in which `tmas` runs, in processes of its own."""

    folder: Path
    environment: dict[str, str]

    @contextmanager
    def start(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        command = [sys.executable, "-m", "tmas_graph", "run", *arguments]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment,
        ) as process:
            try:
                yield process
            finally:  # else a failed test would wait for it
                process.kill()

    def run(self, *arguments: str) -> dict[str, Any]:
        with self.start(*arguments, "--json") as process:
            out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
        return dict(json.loads(out))


@pytest.fixture
def place(tmp_path: Path, at: ScriptedServer) -> Place:
    problems_file(tmp_path, 6)
    mine = {k: v for k, v in os.environ.items() if not k.startswith("TMAS_")}
    return Place(tmp_path, {**mine, "TMAS_BASE_URL": at.base_url, "TMAS_API_KEY": KEY})


def begin(out: str) -> list[str]:
    return ["problems.jsonl", "--method", ",".join(METHODS), "--out", out, *SMALL]


def on(cluster: Any, workers: int = 3) -> list[str]:
    return ["--executor", "ray", "--ray-address", cluster.address, "--workers", str(workers)]


def until(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def stored(folder: Path) -> int:
    """Calls in all databases of a run; in two of them while a part is gathered."""
    count = 0
    for database in folder.rglob("tmas.sqlite"):
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
                count += db.execute("SELECT COUNT(*) FROM tmas_calls").fetchone()[0]
        except sqlite3.Error:  # it is made, or removed, at this moment
            return -1
    return count


def answered(requests: list[Request]) -> list[Request]:
    return [request for request in requests if request.time_answered is not None]


def bodies(requests: list[Request]) -> Counter[str]:
    return Counter(request.digest for request in requests)


def repeated(whole: list[Request], before: list[Request], made: list[Request]) -> list[str]:
    """Bodies that all had their answers `before` the kill, and were sent again.

    What was on its way to the server at the kill can't be told from what was sent after it, so a
    body that methods share counts only once each of them has its answer.
    """
    wanted, finished, sent = bodies(whole), bodies(answered(before)), bodies(made)
    return [b for b in finished if finished[b] >= wanted[b] and sent[b] > wanted[b]]


def test_a_killed_node_loses_nothing_that_was_finished(cluster, at, script, place):
    place.run(*begin("whole"))
    calls = len(at.requests)
    doomed = cluster.add_node(num_cpus=1)
    with place.start(*begin("broken"), *on(cluster), "--json") as process:
        until(lambda: len(at.requests) >= calls + calls // 2, process)
        script.goes_on.clear()
        folder = place.folder / "broken"
        until(lambda: stored(folder) == len(answered(at.requests[calls:])), process)
        before = list(at.requests[calls:])
        cluster.remove_node(doomed, allow_graceful=False)
        script.goes_on.set()
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert rows(folder) == rows(place.folder / "whole")
    made = at.requests[calls:]
    again = bodies(made) - bodies(at.requests[:calls])
    assert again.total() <= 6, "more was repeated than can have been in flight"
    assert repeated(at.requests[:calls], before, made) == []
    assert json.loads(out)["usage"]["calls"] == calls == len(made) - again.total()
    assert not (folder / "parts").exists()


def test_a_killed_driver_is_let_go_on_without_a_cluster(cluster, at, script, place):
    place.run(*begin("whole"))
    calls, folder = len(at.requests), place.folder / "broken"
    with place.start(*begin("broken"), *on(cluster)) as process:
        until(lambda: len(at.requests) >= calls + calls // 2, process)
        script.goes_on.clear()
        until(lambda: stored(folder) == len(answered(at.requests[calls:])), process)
        process.kill()
    before = list(at.requests[calls:])
    assert any(path.is_dir() for path in (folder / "parts").iterdir())
    script.goes_on.set()
    place.run("--resume", "broken")
    assert rows(folder) == rows(place.folder / "whole")
    made = at.requests[calls:]
    again = bodies(made) - bodies(at.requests[:calls])
    assert again.total() <= 6, "more was repeated than can have been in flight"
    assert repeated(at.requests[:calls], before, made) == []
    assert not (folder / "parts").exists()


def test_ctrl_c_stops_the_workers_and_a_run_goes_on_with_more(cluster, at, place):
    place.run(*begin("whole"), "-T", "1")
    whole = len(at.requests)
    with place.start(*begin("a"), *on(cluster), "-T", "1") as process:
        assert process.stdout is not None
        for line in process.stdout:  # until a problem is done
            if " calls" in line:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
        assert process.stderr is not None
        assert "tmas run --resume a" in process.stderr.read()
    assert not (place.folder / "a" / "parts").exists()
    said = place.run("--resume", "a", *on(cluster, 2))
    assert said["methods"]["tmas"]["done"] == 6
    made = [row.attempts for row in rows(place.folder / "a")]
    assert made == [row.attempts for row in rows(place.folder / "whole")]
    assert whole <= len(at.requests) - whole <= whole + 6


def test_a_key_reaches_the_workers_and_no_file(cluster, at, place):
    said = place.run(*begin("a"), "--limit", "1", *on(cluster))
    assert said["usage"]["calls"] == len(at.requests) > 0
    session = Path(cluster.head_node.get_session_dir_path())
    files = [f for top in (session, place.folder) for f in top.rglob("*") if f.is_file()]
    assert len(files) > 10
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []


def test_a_cluster_that_is_not_there_is_one_line(at, place):
    with place.start(*begin("a"), "--executor", "ray", "--ray-address", "127.0.0.1:1") as process:
        _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "--ray-address: no Ray cluster can be used at 127.0.0.1:1" in err
    assert at.requests == []


def test_a_cluster_that_is_gone_is_told_and_the_run_goes_on_without_it(at, script, place):
    lost = begun_cluster()
    try:
        with place.start(*begin("a"), *on(lost), "--json") as process:
            until(lambda: len(at.requests) >= 20, process)
            script.goes_on.clear()
            for node in (*lost.worker_nodes, lost.head_node):
                lost.remove_node(node, allow_graceful=False)
            script.goes_on.set()
            out, err = process.communicate(timeout=300)
    finally:
        lost.shutdown()
    assert process.returncode == 2, err
    assert out == ""
    assert "is gone. Start the cluster anew, then resume." in err
    assert "tmas run --resume a" in err
    assert place.run("--resume", "a")["methods"]["tmas"]["done"] == 6
