"""The graph as a node of another graph, which brings the checkpointer."""

from contextlib import aclosing
from typing import Any

import pytest
from endpoints.reasoner import Reasoner, markers
from endpoints.scripted import server
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from tmas_graph import Result, Settings, build_graph
from tmas_graph.serde import serializer

CONFIG: Any = {"configurable": {"thread_id": "one"}}


class App(TypedDict, total=False):
    problem: Any
    result: Result


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_it_resumes_inside_another_graph_with_all_that_it_knew() -> None:
    builder = StateGraph(App, context_schema=Settings)
    builder.add_node("tmas", build_graph())
    builder.add_edge(START, "tmas")
    app = builder.compile(checkpointer=InMemorySaver(serde=serializer()))
    with server(script=Reasoner().short()) as endpoint:
        settings = Settings(
            base_url=endpoint.base_url, candidates=2, verifications=2, iterations=2, epsilon=0
        )
        given: Any = {"problem": "6·7?"}
        stream = app.astream(given, CONFIG, context=settings, stream_mode="custom", subgraphs=True)
        async with aclosing(stream) as events:  # leave as the exploiters begin
            async for _, event in events:
                if event["event"] == "started" and event["mode"] == "exploit":
                    break
        done = await app.ainvoke(None, CONFIG, context=settings)
        solutions = {m for r in endpoint.asked("solution_initial") for m in marks(r, "SOL")}
        exploits = [r for r in endpoint.asked("solution_exploit") if not r.abandoned]
        assert isinstance(done["result"], Result)
        assert {r.index for r in exploits}
        for request in exploits:
            assert markers("SOL", request.text) == solutions
            assert markers("EXP", request.text)
        assert {r.role for r in endpoint.repeated()} <= {"solution_exploit"}


def marks(request: Any, kind: str) -> frozenset[str]:
    return frozenset().union(*(markers(kind, reply.text) for reply in request.replies))
