"""The cycle over real HTTP: who sees what, how many calls, and what failures change."""

import asyncio
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from endpoints.protocol import Failure, Request, ScriptedReply
from endpoints.reasoner import Reasoner, markers, role_of
from endpoints.scripted import ScriptedServer, server
from langgraph.checkpoint.memory import InMemorySaver

from tmas_graph import Problem, Settings, asolve, build_graph, offers
from tmas_graph.answers.equivalence import equal, forget
from tmas_graph.answers.select import grouped
from tmas_graph.answers.workers import Worker, pool
from tmas_graph.errors import AllCandidatesFailed, EndpointDown, ProblemError, StorageError
from tmas_graph.memory.retrieval import offered
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import seed_of
from tmas_graph.running import follow

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

QUESTION = r"How many $x$ satisfy \(x^2 = \frac{{1}}{2}\) and {% raw %} {{ x }}?"
SHORT = Reasoner().short()
CONFIG = {"configurable": {"thread_id": "1"}}


def endpoint(**changes) -> ScriptedServer:
    return server(**{"script": SHORT, "role_of": role_of, **changes})


def settings(at: ScriptedServer, **changes) -> Settings:
    given = {
        "candidates": 4,
        "verifications": 3,
        "iterations": 3,
        "epsilon": 0.5,
        "mode_draws": "stratified",
        "early_stop": False,
        "attempts": 1,
    }
    return Settings(base_url=at.base_url, **{**given, **changes})


def in_iteration(requests: list[Request], t: int, at: Settings) -> list[Request]:
    """The requests of iteration `t`, told by their seeds, in the order of their candidates."""
    problem = Problem(QUESTION)
    roles = ("solution", "verification", "summary", "experience", "guideline")
    seeds = {
        seed_of(at.seed, Place(problem.id, t, role, i)): i
        for role in roles
        for i in range(at.candidates)
    }
    mine = [r for r in requests if r.seed in seeds]
    return sorted(mine, key=lambda r: seeds[r.seed])


def said(requests: list[Request], kind: str) -> frozenset[str]:
    """The markers of one kind in what the server answered to `requests`."""
    return frozenset().union(
        *(markers(kind, reply.text) for r in requests for reply in r.replies), frozenset()
    )


def ids_of(state) -> list[str]:
    """Which items a state's ledger names."""
    return [row[0] for row in state.values["experience"]]


@pytest.fixture
async def run():
    """A run of three iterations, its requests and its settings."""
    async with endpoint() as at:
        given = settings(at)
        result = await asolve(QUESTION, given)
        yield at.requests, given, result


async def test_iteration_0_sees_the_problem_alone(run):
    requests, given, _ = run
    first = [r for r in in_iteration(requests, 0, given) if r.agent == "solution"]
    assert [r.role for r in first] == ["solution_initial"] * 4
    for request in first:
        assert QUESTION in request.text
        assert not any(markers(k, request.text) for k in ("SOL", "SUM", "EXP", "STRAT"))


async def test_exploiters_see_the_last_rollouts_and_experience_and_never_the_guidelines(run):
    requests, given, _ = run
    for t in (1, 2):
        before = in_iteration(requests, t - 1, given)
        known = said([r for r in requests if r.agent == "experience"], "EXP")
        exploiters = [r for r in in_iteration(requests, t, given) if r.role == "solution_exploit"]
        assert len(exploiters) == 2
        for request in exploiters:
            assert markers("SOL", request.text) == said(before, "SOL")
            assert markers("SUM", request.text) == said(before, "SUM")
            assert markers("EXP", request.text)
            assert markers("EXP", request.text) <= known
            assert not markers("STRAT", request.text)
            assert QUESTION in request.text


async def test_explorers_see_the_guidelines_and_nothing_else(run):
    requests, given, _ = run
    for t in (1, 2):
        listed = frozenset[str]().union(
            *(said(in_iteration(requests, k, given), "STRAT") for k in range(t))
        )
        explorers = [r for r in in_iteration(requests, t, given) if r.role == "solution_explore"]
        assert len(explorers) == 2
        for request in explorers:
            assert markers("STRAT", request.text) == listed
            assert not any(markers(k, request.text) for k in ("SOL", "SUM", "EXP", "VER"))
            assert QUESTION in request.text


async def test_experience_of_every_earlier_iteration_can_be_retrieved(run):
    requests, given, _ = run
    seen = frozenset[str]().union(
        *(
            markers("EXP", r.text)
            for r in in_iteration(requests, 2, given)
            if r.role == "solution_exploit"
        )
    )
    assert seen & said(in_iteration(requests, 0, given), "EXP")
    assert seen & said(in_iteration(requests, 1, given), "EXP")


async def test_each_agent_sees_its_part(run):
    requests, given, _ = run
    for t in range(3):
        mine = in_iteration(requests, t, given)
        for request in mine:
            if request.agent == "verification":
                assert len(markers("SOL", request.text)) == 1
                assert not any(markers(k, request.text) for k in ("SUM", "EXP", "STRAT", "VER"))
            if request.agent == "summary":
                assert len(markers("SOL", request.text)) == 1
                assert len(markers("VER", request.text)) == 3
            if request.agent in ("experience", "guideline"):
                assert markers("SOL", request.text) == said(mine, "SOL")
                assert markers("SUM", request.text) == said(mine, "SUM")
                assert not markers("VER", request.text)


async def test_thinking_reaches_no_other_agent():
    for style in ("reasoning", "reasoning_content", "inline", "inline_unopened"):
        async with endpoint(thinking=style) as at:
            await asolve(QUESTION, settings(at, iterations=2))
            assert said(at.requests, "SOL")
            assert not any(markers("THINK", r.text) for r in at.requests)


@pytest.mark.parametrize(
    ("choices", "per_iteration"),
    [
        ("honoured", 4 * (1 + 1 + 1) + 2),
        ("ignored", 4 * (1 + 3 + 1) + 2),
    ],
)
async def test_calls_per_iteration(choices, per_iteration):
    async with endpoint(choices=choices) as at:
        result = await asolve(QUESTION, settings(at))
        assert len(at.requests) == 3 * per_iteration
        assert result.usage.calls == len(at.requests)


async def test_n_or_one_by_one_gives_the_same_result():
    results = []
    for choices in ("honoured", "ignored", "short", "refused"):
        async with endpoint(choices=choices) as at:
            result = await asolve(QUESTION, settings(at))
            results.append(replace(result, usage=result.usage.__class__(), spend=()))
    assert all(result == results[0] for result in results)


async def test_results_do_not_depend_on_the_order_in_which_candidates_finish():
    def backwards(request: Request) -> float:
        return 0.02 * (int(request.digest[:2], 16) % 7)

    outcomes = []
    for latency in (0.0, backwards):
        async with endpoint(latency=latency) as at:
            given = settings(at, concurrency=8)
            result = await asolve(QUESTION, given)
            outcomes.append((result, sorted(r.digest for r in at.requests)))
    assert outcomes[0] == outcomes[1]


async def test_no_candidate_waits_for_another():
    # One candidate's solution is slow: the others are summed up before it is even written.
    slow = seed_of(0, Place(Problem(QUESTION).id, 0, "solution", 2))

    def latency(request: Request) -> float:
        return 0.3 if request.seed == slow else 0.0

    async with endpoint(latency=latency) as at:
        await asolve(QUESTION, settings(at, iterations=1))
        written = next(r for r in at.requests if r.seed == slow).time_answered
        others = [r for r in at.requests if r.role == "summary"]
        assert sum(r.time_answered < written for r in others) == 3


async def test_a_failed_candidate_is_counted_and_the_others_go_on():
    failing = seed_of(0, Place(Problem(QUESTION).id, 1, "solution", 2))
    events = []
    async with endpoint(fail=lambda r: 500 if r.seed == failing else None) as at:
        given = settings(at)
        result = await asolve(QUESTION, given, on_event=events.append)
        last = {(e["iteration"], e["index"]): e for e in events if e["event"] == "candidate"}
        failed = [key for key, e in last.items() if e["outcome"] == "failed"]
        assert failed == [(1, 2)]
        assert "HTTP 500" in last[1, 2]["cause"]
        assert result.iterations == 3
        shown = [r for r in in_iteration(at.requests, 2, given) if r.role == "solution_exploit"]
        assert all(len(markers("SOL", r.text)) == 3 for r in shown)


@pytest.mark.parametrize("agent", ["solution", "verification", "summary"])
async def test_when_all_fail_the_run_stops_with_the_cause_and_resumes(agent):
    def failure(request: Request) -> int | None:
        return 503 if request.agent == agent and in_second(request) else None

    def in_second(request: Request) -> bool:
        seeds = {seed_of(0, Place(Problem(QUESTION).id, 1, agent, i)) for i in range(4)}
        return request.seed in seeds

    async with endpoint() as at:
        given = settings(at, iterations=2)
        unbroken = await asolve(QUESTION, given)
        at.requests.clear()
        at.change(fail=failure)
        graph = build_graph(InMemorySaver())
        with pytest.raises(AllCandidatesFailed, match=r"iteration 1: .* 4 of 4 failed.*HTTP 503"):
            await follow(graph, {"problem": QUESTION}, CONFIG, given)
        with pytest.raises(AllCandidatesFailed):  # still down: it stops again
            await follow(graph, None, CONFIG, given)
        at.change(fail=None)
        result = await follow(graph, None, CONFIG, given)
        assert replace(result, usage=unbroken.usage, spend=unbroken.spend) == unbroken
        answered = [r.digest for r in at.requests if r.status == 200]
        assert len(answered) == len(set(answered)), "a finished call was made again"


async def test_a_bank_agent_that_gets_no_reply_stops_the_run_and_a_resume_repeats_it_alone():
    # It fails last: a call that is in flight when its sibling fails is cancelled, not finished.
    slow = {"fail": lambda r: 503 if r.agent == "guideline" else None}
    slow["latency"] = lambda r: 0.7 if r.agent == "guideline" else 0.0
    async with endpoint(**slow) as at:
        given = settings(at, iterations=1)
        graph = build_graph(InMemorySaver())
        with pytest.raises(EndpointDown, match="HTTP 503"):
            await follow(graph, {"problem": QUESTION}, CONFIG, given)
        before = len(at.requests)
        at.change(fail=None)
        await follow(graph, None, CONFIG, given)
        assert [r.agent for r in at.requests[before:]] == ["guideline"]


async def test_a_bank_request_that_is_refused_is_skipped():
    events = []
    async with endpoint(fail=lambda r: 400 if r.agent == "experience" else None) as at:
        result = await asolve(QUESTION, settings(at), on_event=events.append)
        assert result.iterations == 3
        skipped = [e for e in events if e["event"] == "experience"]
        assert len(skipped) == 3
        assert all("HTTP 400" in e["cause"] for e in skipped)


async def test_truncated_and_empty_candidates_are_no_answers_and_are_shown_to_nobody():
    def script(request: Request, choice: int) -> ScriptedReply:
        reply = SHORT(request, choice)
        if request.role == "solution_initial" and request.seed in cut:
            return replace(reply, finish_reason="length")
        if request.role == "solution_initial" and request.seed in empty:
            return replace(reply, text=None)
        return reply

    problem = Problem(QUESTION)
    cut = {seed_of(0, Place(problem.id, 0, "solution", 1))}
    empty = {seed_of(0, Place(problem.id, 0, "solution", 3))}
    events = []
    async with endpoint(script=script) as at:
        given = settings(at)
        await asolve(QUESTION, given, on_event=events.append)
        last = {e["index"]: e for e in events if e["event"] == "candidate" and not e["iteration"]}
        assert [last[i]["outcome"] for i in range(4)] == [
            "finished",
            "truncated",
            "finished",
            "empty",
        ]
        first = in_iteration(at.requests, 0, given)
        cut_text = said([r for r in first if r.seed in cut], "SOL")
        assert cut_text
        assert not any(markers("SOL", r.text) & cut_text for r in at.requests)
        assert sum(r.agent == "verification" for r in first) == 2
        assert last[1]["answer"] is None


async def test_a_proof_is_the_best_scored_rollout():
    async with endpoint() as at:
        result = await asolve(Problem(QUESTION, kind="proof"), settings(at))
        assert result.answer is None
        assert markers("SOL", result.solution)
        assert result.confidence == result.score
        assert all("proof" in r.text for r in at.requests if r.agent == "verification")


async def test_the_solution_of_the_result_holds_its_answer():
    async with endpoint() as at:
        result = await asolve(QUESTION, settings(at, iterations=4))
        assert f"\\boxed{{{result.answer}}}" in result.solution
        assert 0 < result.confidence <= 1


async def test_budgets_stop_between_iterations_and_can_be_raised():
    async with endpoint() as at:
        given = settings(at, max_calls=15)
        graph = build_graph(InMemorySaver())
        result = await follow(graph, {"problem": QUESTION}, CONFIG, given)
        assert (result.stop, result.iterations) == ("budget", 2)


async def test_a_sure_answer_stops_early():
    sure = Reasoner(chance=1.0, scores_of_right=(1.0, 0.0, 0.0)).short()
    async with endpoint(script=sure) as at:
        result = await asolve(QUESTION, settings(at, early_stop=True, iterations=10))
        assert (result.stop, result.iterations, result.answer) == ("confident", 2, "42")


async def test_a_fork_sees_only_the_items_of_its_own_branch(tmp_path):
    async with endpoint() as at:
        given = settings(at, iterations=3, memory_folder=str(tmp_path / "bank"))
        graph = build_graph(InMemorySaver())
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        whole = await graph.aget_state(CONFIG)
        history = [s async for s in graph.aget_state_history(CONFIG)]
        at_one = next(s for s in history if s.next == ("plan",) and s.values.get("iteration") == 1)
        before = len(at.requests)
        other = given.model_copy(update={"epsilon": 1.0, "seed": 7})
        await follow(graph, None, at_one.config, other)
        forked = await graph.aget_state(CONFIG)
        first, own, others = (ids_of(state) for state in (at_one, forked, whole))
        assert own[: len(first)] == others[: len(first)] == first
        assert set(own) > set(first)
        assert set(own) & set(others) == set(first)
        roles = [r.role for r in at.requests[before:] if r.agent == "solution"]
        assert roles == ["solution_explore"] * 8


async def test_problems_share_a_limiter_and_run_side_by_side():
    async with endpoint(latency=0.02) as at:
        given = settings(at, iterations=1, concurrency=5)
        await asyncio.gather(*(asolve(f"{QUESTION} {i}", given) for i in range(4)))
        assert at.max_in_flight == 5


@pytest.mark.parametrize("bad", ["", "   ", {"question": ""}, {"text": "x"}, 3, {"question": 3}])
async def test_what_is_no_problem_is_refused(bad):
    with pytest.raises(ProblemError):
        await build_graph().ainvoke({"problem": bad})


async def test_what_exploiters_are_asked_is_chosen_and_written_once_an_iteration(monkeypatch):
    wanted = []

    async def counted(bank, memories, texts, tokens):
        wanted.append(texts)
        return await offered(bank, memories, texts, tokens)

    monkeypatch.setattr(offers, "offered", counted)
    async with endpoint() as at:
        await asolve(QUESTION, settings(at, iterations=3))
        asked = [r.text for r in at.requests if r.role == "solution_exploit"]
    assert (len(wanted), len(set(wanted[0]) - set(wanted[1])) > 0) == (2, True)
    assert (len(asked), len(set(asked))) == (4, 2)


async def test_a_resumed_exploiter_sees_what_an_unbroken_one_saw():
    # It dies while exploiting; what it was shown is read from the parent's checkpoint then.
    second = {seed_of(0, Place(Problem(QUESTION).id, 1, "solution", i)) for i in range(4)}
    async with endpoint() as at:
        given = settings(at, iterations=2)
        unbroken = await asolve(QUESTION, given)
        expected = {r.digest for r in at.requests}
        at.requests.clear()
        arrived = asyncio.Semaphore(0)

        def latency(request: Request) -> float:
            if request.seed not in second:
                return 0.0
            arrived.release()
            return 30.0

        at.change(latency=latency)
        graph = build_graph(InMemorySaver())
        task = asyncio.create_task(follow(graph, {"problem": QUESTION}, CONFIG, given))
        for _ in range(4):
            await arrived.acquire()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        at.change(latency=0.0)
        result = await follow(graph, None, CONFIG, given)
        assert {r.digest for r in at.requests} == expected
        assert result == unbroken


async def test_a_refused_key_is_the_cause_that_is_shown():
    async with endpoint(fail=lambda r: Failure(status=401, message="no")) as at:
        with pytest.raises(AllCandidatesFailed, match="TMAS_API_KEY"):
            await asolve(QUESTION, settings(at))


def answering(*texts: str):
    """A script in which candidate i writes texts[i], whatever its mode, and all checks pass."""
    turn = iter(texts * 10)

    def script(request: Request, context: object) -> str:
        if request.agent == "solution":
            return rf"So \boxed{{{next(turn)}}}"
        return r"It holds. \boxed{1}" if request.agent == "verification" else "- none"

    return script


async def test_answers_of_one_value_are_one_choice_and_can_stop_a_run_early():
    async with endpoint(script=answering(r"\frac{\sqrt{8}}{2}", r"\sqrt{2}", r"2^{1/2}")) as at:
        given = settings(at, candidates=3, verifications=1, early_stop=True)
        result = await asolve(QUESTION, given)
    assert (result.confidence, result.stop, result.iterations) == (1.0, "confident", 2)


async def test_an_answer_that_takes_long_to_compare_does_not_stop_the_event_loop(monkeypatch):
    def slow(answers, known=()):
        time.sleep(0.4)
        return grouped(answers, equal, known)

    monkeypatch.setattr("tmas_graph.progress.group", slow)
    gaps = [time.perf_counter()]

    async def beat() -> None:
        while True:
            await asyncio.sleep(0.01)
            gaps.append(time.perf_counter())

    async with endpoint(script=answering("1", "2")) as at:
        beating = asyncio.create_task(beat())
        await asolve(QUESTION, settings(at, candidates=2, verifications=1, iterations=1))
        beating.cancel()
    assert max(later - earlier for earlier, later in pairwise(gaps)) < 0.35


async def test_a_grading_process_that_cant_start_does_not_lose_a_run(monkeypatch, caplog):
    def never_starts(self: Worker) -> None:
        raise StorageError("answers: the grading process doesn't start. Check that.")

    pool().close()
    forget()
    monkeypatch.setattr(Worker, "__init__", never_starts)
    async with endpoint(script=answering(r"\sqrt{12}", r"2\sqrt{3}", r"$\sqrt{12}$.")) as at:
        given = settings(at, candidates=3, verifications=1, iterations=1)
        result = await asolve(QUESTION, given)
    assert result.confidence == pytest.approx(2 / 3)
    assert "answers are grouped by their text" in caplog.text
