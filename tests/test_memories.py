"""The memories of a long run: what is proposed again and again, refuted, or more than fits."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server
from langgraph.checkpoint.memory import InMemorySaver

from tmas_graph import Problem, Settings, build_graph
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import seed_of
from tmas_graph.prompts import estimate_tokens
from tmas_graph.running import follow
from tmas_graph.serde import serializer

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

QUESTION = Problem("Find $T(2)$, the degree of $P$, and the sum of its roots.")
CONFIG: Any = {"configurable": {"thread_id": "1"}}
FACTS = cases("facts")
TRUE = [fact["wordings"] for fact in FACTS if fact["true"]]
FALSE = [fact["wordings"] for fact in FACTS if not fact["true"]]
ITERATIONS, TOKENS, REFUTED_AT = 20, 700, 7
SHORT = Reasoner().short()
SEEDS = {
    seed_of(0, Place(QUESTION.id, t, role, i)): t
    for t in range(ITERATIONS)
    for role, i in (("experience", 0), ("solution", 0), ("solution", 1))
}


@dataclass
class Repeating:
    """A server's script: the Experience agent says the same facts in new words, and new others.

    At `REFUTED_AT` it refutes the false ones, by the names that its prompt gives them.
    """

    others: int = 4
    asked: list[Request] = field(default_factory=list)

    def __call__(self, request: Request, choice: int) -> ScriptedReply | str:
        """The reply to a request."""
        if request.agent != "experience":
            return SHORT(request, choice)
        self.asked.append(request)
        return "\n".join(self._lines(request, SEEDS[request.seed or 0]))

    def _lines(self, request: Request, t: int) -> Iterator[str]:
        for wordings in (*TRUE, *FALSE):
            yield f"- [conclusion] {wordings[t % len(wordings)]}"
        for n in range(self.others):
            seeded = Reasoner().short()(request, n).text or ""
            yield f"- [technique] other {t} {n}: {seeded.splitlines()[0][20:]}"
        if t == REFUTED_AT:
            yield from (f"- refute {name}: checked again" for name in named(request, FALSE))


def named(request: Request, facts: list[list[str]]) -> list[str]:
    """How a prompt of the Experience agent names these facts."""
    shown = re.findall(
        r"^- (E\d+) \[conclusion\] (.*?)(?: \(supported by \d+\))?$", request.text, re.M
    )
    return [name for name, text in shown if any(text in wordings for wordings in facts)]


def section(request: Request, heading: str) -> list[str]:
    """The lines of items that a prompt shows under a heading."""
    _, _, rest = request.text.partition(f"# {heading}\n")
    return [line for line in rest.partition("\n# ")[0].split("\n") if line.startswith("- ")]


def exploiters(at: ScriptedServer) -> list[tuple[int, list[str]]]:
    """The iteration of each exploiting candidate, and the experience that it was shown."""
    heading = "Experience from earlier attempts"
    found = [r for r in at.requests if r.role == "solution_exploit"]
    return [(SEEDS[r.seed or 0], section(r, heading)) for r in found]


def conclusions(lines: list[str], wordings: list[str]) -> int:
    """How many of the lines offer a fact, in whatever words."""
    said = [re.sub(r" \(supported by \d+\)$", "", line) for line in lines]
    return sum(line == f"- [conclusion] {wording}" for line in said for wording in wordings)


async def test_a_bank_that_hears_the_same_facts_for_20_iterations_stays_small_and_right(
    tmp_path: Path,
) -> None:
    script = Repeating()
    async with server(script=script, role_of=role_of) as at:
        given = Settings(
            base_url=at.base_url,
            candidates=2,
            verifications=1,
            iterations=ITERATIONS,
            epsilon=0.0,
            early_stop=False,
            experience_tokens=TOKENS,
            memory_folder=str(tmp_path / "memory"),
        )
        graph = build_graph(InMemorySaver())
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        state = await graph.aget_state(CONFIG)
        prompts = exploiters(at)
    assert len(prompts) == 2 * (ITERATIONS - 1)
    for t, lines in prompts:
        assert sum(map(estimate_tokens, lines)) <= TOKENS
        assert [conclusions(lines, fact) for fact in TRUE] == [1] * len(TRUE), t
        assert all(conclusions(lines, fact) <= (t <= REFUTED_AT) for fact in FALSE), t
        if t > REFUTED_AT:
            for fact in FALSE:
                assert f"- [pitfall] It is not true that {fact[0]}: checked again" in lines
    assert any(conclusions(lines, FALSE[0]) for _, lines in prompts)
    for request in script.asked[1:]:
        assert sum(map(estimate_tokens, section(request, "What is noted already"))) <= TOKENS
    ledger = {entry.id: entry for entry in ledger_of(state.values["experience"])}
    assert len(ledger) == len(TRUE) + len(FALSE) + ITERATIONS * script.others
    for fact in TRUE:
        assert ledger[Item("conclusion", fact[0]).id].status == "supported"
    for fact in FALSE:
        assert ledger[Item("conclusion", fact[0]).id].status == "refuted"
    _, stored = serializer().dumps_typed(state.values["experience"])
    assert len(stored) < 60 * len(ledger)
