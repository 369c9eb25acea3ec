"""What problems learn of each other: over whole runs, one after the other, on one library."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from chroma_server import chroma_server
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server
from filelock import FileLock
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tmas_graph import Problem, Settings, asolve, build_graph
from tmas_graph.errors import StorageError
from tmas_graph.memory.chroma import Filter, Store, Where
from tmas_graph.memory.embeddings import Hashing
from tmas_graph.memory.items import Item
from tmas_graph.memory.library import Library, Published, library_of
from tmas_graph.memory.opening import held
from tmas_graph.running import follow

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

FIRST = Problem("How many even divisors has 360?", id="divisors")
SECOND = Problem("How many odd divisors has 720?", id="odd divisors")
CONFIG: Any = {"configurable": {"thread_id": "1"}}
LOCKED = r"another process writes to .*one Chroma server \(memory_server\)"
HEADING = "# From other problems; check whether they apply here"
FACT = r"there are \(18\) of them"
STEP = r"factor into primes, then count choices of exponents, as $\prod(e_i+1)$"
TRAP = "counting the divisor 1 twice"
FAILED = "list all divisors by hand"
SHORT = Reasoner().short()
LEARNT = {
    FIRST.question: [
        f"- [conclusion] {FACT}\n- [technique] {STEP}\n- [pitfall] {TRAP}\n- [technique] {FAILED}",
        "- refute E4: too many",
    ]
}


def script(said: Mapping[str, list[str]]) -> Any:
    """The Experience agent says about each problem one reply after the other, then nothing."""

    def reply(request: Request, choice: int) -> ScriptedReply | str:
        if request.agent != "experience":
            return SHORT(request, choice)
        question = next((q for q in said if q in request.text), "")
        told = [t for t in said.get(question, ()) if t.partition("\n")[0] not in request.text]
        return replies.setdefault(request.seed, said[question].pop(0) if told else "NONE")

    said = {question: list(texts) for question, texts in said.items()}
    replies: dict[int | None, str] = {}
    return reply


def settings(at: ScriptedServer, folder: Path, **changes: Any) -> Settings:
    given: dict[str, Any] = {
        "candidates": 2,
        "verifications": 1,
        "iterations": 2,
        "epsilon": 0.0,
        "early_stop": False,
        "memory_scope": "library",
        "memory_folder": str(folder / "memory"),
    }
    return Settings(base_url=at.base_url, **{**given, **changes})


def solvers(at: ScriptedServer, problem: Problem, begin: int = 0) -> list[str]:
    """What those who exploit were asked about `problem`, from request number `begin` on."""
    asked = [r for r in at.requests[begin:] if problem.question in r.text]
    return [r.text for r in asked if r.role == "solution_exploit"]


def lent(text: str) -> list[str]:
    """The lines of the section with other problems' experience."""
    return text.partition(HEADING)[2].partition("\n#")[0].split("\n")


async def test_techniques_and_pitfalls_are_lent_to_other_problems_and_results_never(
    tmp_path: Path,
) -> None:
    async with server(script=script(LEARNT), role_of=role_of) as at:
        given = settings(at, tmp_path)
        await asolve(FIRST, given)
        assert [text for text in solvers(at, FIRST) if HEADING in text] == []
        await asolve(SECOND, given)
        texts = solvers(at, SECOND)
        assert len(texts) == 2
        for text in texts:
            assert {
                f"- [technique] {STEP}",
                f"- [pitfall] {TRAP}",
                f"- [pitfall] This didn't work there: {FAILED}: too many",
            } == set(filter(None, lent(text)))
        others = [r.text for r in at.requests if SECOND.question in r.text]
        assert [text for text in others if FACT in text] == []
        judges = [t for t in others if "note what the next attempts can reuse" in t]
        assert [text for text in judges if STEP in text] == []


async def test_a_problem_is_not_lent_its_own_experience_of_an_earlier_run(tmp_path: Path) -> None:
    async with server(script=script(LEARNT), role_of=role_of) as at:
        given = settings(at, tmp_path)
        await asolve(FIRST, given)
        begin = len(at.requests)
        await asolve(FIRST, given.model_copy(update={"seed": 7, "run_name": "again"}))
        texts = solvers(at, FIRST, begin)
        assert len(texts) == 2
        assert [text for text in texts if HEADING in text] == []


@pytest.mark.parametrize(("run", "shared"), [("one", True), ("other", False)])
async def test_the_scope_of_a_run_ends_at_its_name(tmp_path: Path, run: str, shared: bool) -> None:
    async with server(script=script(LEARNT), role_of=role_of) as at:
        given = settings(at, tmp_path, memory_scope="run", run_name="one")
        await asolve(FIRST, given)
        await asolve(SECOND, given.model_copy(update={"run_name": run}))
        assert [STEP in text for text in solvers(at, SECOND)] == [shared, shared]


async def test_by_default_each_problem_keeps_to_itself(tmp_path: Path) -> None:
    async with server(script=script(LEARNT), role_of=role_of) as at:
        given = settings(at, tmp_path, memory_scope="problem")
        await asolve(FIRST, given)
        await asolve(SECOND, given)
        assert [text for text in solvers(at, SECOND) if HEADING in text] == []
        assert await library_of(given).find() == []


async def test_what_is_lent_stays_as_it_was_chosen_whatever_others_publish_since(
    tmp_path: Path,
) -> None:
    async with (
        server(script=script(LEARNT), role_of=role_of) as at,
        AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.sqlite")) as saver,
    ):
        given, graph = settings(at, tmp_path), build_graph(saver)
        await asolve(FIRST, given)
        once = given.model_copy(update={"iterations": 1})
        await follow(graph, {"problem": SECOND}, CONFIG, once)
        states = [s async for s in graph.aget_state_history(CONFIG)]
        [decided] = [s for s in states if s.next == ("decide",)]
        library = library_of(given)
        old = [one for one in await library.find() if one.problem == FIRST.id]
        await library.remove([one.id for one in old])
        await library.write([Published(Item("technique", "count in pairs"), "third", "r")])
        await follow(graph, None, decided.config, given)
        texts = solvers(at, SECOND)
        assert [STEP in text for text in texts] == [True, True]
        [one] = [s async for s in graph.aget_state_history(CONFIG) if s.values.get("iteration") == 1
                 and s.next == ("plan",)]  # fmt: skip
        begin = len(at.requests)
        await follow(graph, None, one.config, given.model_copy(update={"seed": 7}))
        forked = solvers(at, SECOND, begin)
        assert [lent(text) for text in forked] == [lent(text) for text in texts]
        more = given.model_copy(update={"iterations": 3})
        begin = len(at.requests)
        last = (await graph.aget_state(CONFIG)).config
        await graph.aupdate_state(last, {"stop": None}, as_node="decide")
        await follow(graph, None, CONFIG, more)
        later = solvers(at, SECOND, begin)
        assert [lent(text)[1] for text in later] == ["- [technique] count in pairs"] * 2
        assert [text for text in later if STEP in text] == []


async def test_what_is_published_says_where_it_is_from_and_how_it_stands(tmp_path: Path) -> None:
    async with server(script=script(LEARNT), role_of=role_of) as at:
        given = settings(at, tmp_path, run_name="nightly")
        await asolve(FIRST, given)
        async with held(given, FIRST.id):
            found = await library_of(given).find()
    assert {datetime.fromisoformat(one.time).tzinfo for one in found} == {UTC}
    found = [replace(one, time="") for one in found]
    common = {"problem": FIRST.id, "run": "nightly", "question": FIRST.question}
    failed = Published(Item("technique", FAILED), **common, status="refuted", contradictions=1)  # type: ignore[arg-type]
    assert found == [
        Published(Item("conclusion", FACT), **common),  # type: ignore[arg-type]
        Published(Item("technique", STEP), **common),  # type: ignore[arg-type]
        Published(Item("pitfall", TRAP), **common),  # type: ignore[arg-type]
        replace(failed, reason="too many"),
    ]


async def test_a_folder_that_another_writes_to_is_refused_before_a_call_is_paid(
    tmp_path: Path,
) -> None:
    async with server(script=script(LEARNT), role_of=role_of) as at:
        given = settings(at, tmp_path)
        (tmp_path / "memory").mkdir()
        with FileLock(tmp_path / "memory" / "tmas.lock"):  # as another process holds it
            with pytest.raises(StorageError, match=LOCKED):
                await asolve(FIRST, given)
            with pytest.raises(StorageError, match=LOCKED):
                await build_graph().ainvoke({"problem": FIRST}, context=given)
        assert at.requests == []


async def test_vectors_of_another_embedder_are_refused_before_a_call_is_paid(
    tmp_path: Path,
) -> None:
    class Other:
        name, dimension = "other", 3

        async def embed(self, texts: Any) -> list[list[float]]:
            return [[1.0, 0.0, 0.0] for _ in texts]

    async with server(script=script(LEARNT), role_of=role_of) as at:
        given = settings(at, tmp_path)
        library = Library(Store(Where(given.memory_folder)), Other())
        await library.write([Published(Item("technique", "x"), "p")])
        await library.store.close()
        with pytest.raises(StorageError, match=r"vectors of other.*`tmas memory reembed`"):
            await asolve(FIRST, given)
        assert at.requests == []
        again = library_of(given)
        assert await again.reembed() == 1
        assert [f.published.item.text for f in await again.nearest("x", Filter(), 5)] == ["x"]
        await again.store.close()


async def test_two_who_write_to_one_server_see_each_others_items(tmp_path: Path) -> None:
    with chroma_server(tmp_path / "served") as url:
        one, other = (Library(Store(Where(server=url)), Hashing()) for _ in range(2))
        given = [[Published(Item("technique", f"{p} {n}"), p) for n in range(30)] for p in "ab"]
        await asyncio.gather(one.write(given[0]), other.write(given[1]))
        for library in (one, other):
            found = await library.find()
            assert sorted(p.id for p in found) == sorted(p.id for some in given for p in some)
            near = await library.nearest("a 7", Filter(unequal={"problem": "b"}), 3)
            assert near[0].published == given[0][7]
            await library.store.close()
