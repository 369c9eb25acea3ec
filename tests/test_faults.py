"""Whole problems at an endpoint whose every answer may be faulty, and at two that differ."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from endpoints.fault import Fault
from endpoints.faults import bodies, catalogue, connection, replies, streams
from endpoints.faults.mix import evenly, mix
from endpoints.protocol import Request
from endpoints.reasoner import MARKERS, Reasoner, markers
from endpoints.scripted import ScriptedServer, server

from tmas_graph import Budget, Problem, Result, Settings, asolve
from tmas_graph.errors import AllCandidatesFailed, CallError, EndpointDown, TmasError
from tmas_graph.models import retrying

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
QUESTION = "What is 6 times 7?"
OF_N = tuple(fault for fault in catalogue.POOR if fault.name.startswith("n_"))
"""What is asked for after them depends on which answer came first."""
SHUFFLED = tuple(fault for fault in catalogue.QUICK if fault not in OF_N)


@dataclass(frozen=True)
class Run:
    """What one run came to."""

    ended: Result | TmasError
    requests: Sequence[Request]
    events: Sequence[Any]
    budget: Budget


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "backoff", lambda attempt: 0.0)


async def solved(at: ScriptedServer, **changes: Any) -> Run:
    given = {
        "candidates": 3,
        "verifications": 3,
        "iterations": 3,
        "early_stop": False,
        "epsilon": 0.4,
    }
    settings = Settings.checked({"base_url": at.base_url, "model": "scripted", **given, **changes})
    events: list[Any] = []
    budget = Budget()
    ended: Result | TmasError
    try:
        ended = await asolve(Problem(QUESTION), settings, run=budget, on_event=events.append)
    except (AllCandidatesFailed, CallError) as error:
        ended = error
    return Run(ended, list(at.requests), events, budget)


def faulty(seed: int, rate: float, faults: Sequence[Fault]) -> ScriptedServer:
    script = Reasoner().short()
    return server(script=script, fault=mix(seed, evenly(rate, faults)))


READABLE = {
    *(fault.name for fault in catalogue.HARMLESS),
    *(fault.name for fault in OF_N),
    *(fault.name for fault in (streams.NEVER, streams.ALWAYS, bodies.MISLABELLED)),
    replies.FINISH_NULL.name,
}
"""Faults that a reader overcomes: the text that came is the whole reply."""


def said(requests: Sequence[Request], *, whole: bool) -> frozenset[str]:
    """The markers in all texts of `requests`, or in those that an answer gave `whole`.

    Of a list that was cut, the lines before the last one are whole.
    """
    found: set[str] = set()
    for request in requests:
        readable = request.status == 200 and (not request.fault or request.fault in READABLE)
        for reply in request.replies:
            text = reply.text or ""
            if whole and request.agent in ("experience", "guideline"):
                cut = request.status == 200 and reply.finish_reason == "length"
                text = text.rpartition("\n")[0] if cut else text * readable
            elif whole:
                text *= readable
            found |= {m for kind in MARKERS if kind != "THINK" for m in markers(kind, text)}
    return frozenset(found)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("seed", range(4))
async def test_whatever_the_faults_a_run_ends_in_order(seed: int, streamed: bool) -> None:
    async with faulty(seed, 0.35, catalogue.QUICK) as at:
        run = await solved(at, stream=streamed)
    assert any(r.fault for r in run.requests)
    if isinstance(run.ended, Result):
        assert run.ended.iterations == 3
        assert run.ended.usage == run.budget.spent
    # Each request is charged once: those that failed, and those of calls that failed.
    assert run.budget.spent.calls == len(run.requests)
    # No error and no truncated text reaches a prompt, a vote or a bank.
    shown = "\n".join(r.text for r in run.requests)
    broken = said(run.requests, whole=False) - said(run.requests, whole=True)
    assert not [marker for marker in broken if marker in shown]
    assert "Internal" not in shown
    assert "scripted failure" not in shown
    last = {(e["iteration"], e["index"]): e for e in run.events if e["event"] == "candidate"}
    for event in last.values():
        assert (event["answer"] is None) or event["outcome"] in ("finished", "failed")
        assert event["outcome"] != "open"


@pytest.mark.parametrize("seed", range(3))
async def test_the_same_faults_give_the_same_result(seed: int) -> None:
    runs = []
    for concurrency in (64, 3):
        async with faulty(seed, 0.3, SHUFFLED) as at:
            runs.append(await solved(at, concurrency=concurrency))
    first, second = runs
    assert type(first.ended) is type(second.ended)
    if isinstance(first.ended, Result) and isinstance(second.ended, Result):
        same = ("answer", "confidence", "solution", "score", "iterations", "stop")
        assert [getattr(first.ended, n) for n in same] == [getattr(second.ended, n) for n in same]
    bodies = [sorted((r.digest, r.attempt, r.fault or "") for r in run.requests) for run in runs]
    assert bodies[0] == bodies[1]


async def test_hangs_hold_no_slot_beyond_their_deadline() -> None:
    rates = evenly(0.08, catalogue.HANGS)
    async with server(script=Reasoner().short(), fault=mix(1, rates)) as at:
        run = await solved(at, timeout_seconds=4, stall_seconds=1, concurrency=6, iterations=2)
        assert any(r.fault and r.fault.startswith("hang") for r in at.requests)
        assert at.in_flight == 0
    assert run.budget.spent.calls == len(run.requests)
    assert isinstance(run.ended, Result | EndpointDown)


async def test_a_slow_endpoint_does_not_hold_up_a_fast_one() -> None:
    all_written = asyncio.Event()

    def counted(request: Request) -> float:
        if len(fast.requests) == 8:
            all_written.set()
        return 0.05

    async with (
        server(script=Reasoner().short(), latency=counted) as fast,
        server(script=Reasoner().short(), fault=lambda r: held) as slow,
    ):
        held = connection.held(all_written.wait, "before_headers")
        roles = {"verification": {"base_url": slow.base_url, "concurrency": 1}}
        settings = Settings.checked(
            {
                "base_url": fast.base_url,
                "candidates": 4,
                "verifications": 1,
                "iterations": 1,
                "concurrency": 4,
                "roles": roles,
            }
        )
        problems = [Problem("What is 6 times 7?"), Problem("What is 7 times 6?")]
        # The one check that the slow endpoint takes at a time waits until the fast one has written
        # all candidates of both problems: a limit that they shared would never let it.
        results = await asyncio.gather(*(asolve(p, settings) for p in problems))
        assert slow.max_in_flight == 1
        assert fast.max_in_flight == 4
    assert all(result.iterations == 1 for result in results)
