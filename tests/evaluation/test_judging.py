"""A run whose answers rules can't compare with the gold answer."""

import json
from pathlib import Path

import pytest
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import server
from runs_on_script import begun, gone_on, rows, settings

from tmas_graph.evaluation.run_rows import FILE

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

GOLD = "all odd numbers"
WRITES = Reasoner(right="n odd", chance=1.0).short()


def script(request: Request, choice: int) -> ScriptedReply:
    """Solves, and accepts as a judge."""
    if GOLD in request.text:
        return ScriptedReply(text=r"They say the same. \boxed{yes}")
    return WRITES(request, choice)


async def test_the_judge_is_asked_once_for_an_answer_charged_and_not_asked_again(tmp_path: Path):
    file, folder = tmp_path / "p.jsonl", tmp_path / "run"
    file.write_text(json.dumps({"problem_id": "p", "question": "Which n?", "answer": GOLD}))
    async with server(script=script, role_of=role_of) as at:
        given = settings(at, judge=True)
        standing = await begun(folder, file, given, ["tmas"])
        found = rows(folder)
        assert {a.status for row in found for a in row.attempts} == {"correct"}
        asked = [request for request in at.requests if GOLD in request.text]
        assert len(asked) == 1
        assert found[0].spend["judge"].calls == 1
        assert standing.purse.spent.calls == len(at.requests)
        (folder / FILE).unlink()
        before = len(at.requests)
        await gone_on(folder, given)
        assert rows(folder) == found
        assert len(at.requests) == before


async def test_without_a_judge_such_an_answer_is_unsure_until_there_is_one(tmp_path: Path):
    file, folder = tmp_path / "p.jsonl", tmp_path / "run"
    file.write_text(json.dumps({"problem_id": "p", "question": "Which n?", "answer": GOLD}))
    async with server(script=script, role_of=role_of) as at:
        await begun(folder, file, settings(at), ["tmas"])
        assert {row.selected.status for row in rows(folder)} == {"unsure"}
        before = len(at.requests)
        await gone_on(folder, settings(at), changes={"judge": True})
        assert {row.selected.status for row in rows(folder)} == {"correct"}
        assert len(at.requests) == before + 1
