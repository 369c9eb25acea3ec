"""Runs whose items get their vectors from a served model, and what is said when it fails."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from embedding_server import Server, serving
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server

from tmas_graph import Problem, Settings, asolve
from tmas_graph.errors import EndpointDown, MissingExtra, RequestRefused, StorageError
from tmas_graph.memory import served_embeddings
from tmas_graph.memory.experience_bank import COLLECTION
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.memory.opening import bank_of
from tmas_graph.records import differences
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
PROBLEM = Problem("How many?")
SHORT = Reasoner().short()


def settings(at: ScriptedServer, embeddings: dict[str, Any], **changes: Any) -> Settings:
    given: dict[str, Any] = {
        "candidates": 2,
        "verifications": 1,
        "iterations": 3,
        "epsilon": 0.0,
        "early_stop": False,
        "embeddings": embeddings,
    }
    return Settings(base_url=at.base_url, **{**given, **changes})


def of(vectors: Server) -> dict[str, Any]:
    return {"base_url": vectors.base_url, "model": "m", "api_key": "secret-key"}


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_a_run_uses_the_served_vectors_and_asks_for_each_text_once(tmp_path: Path) -> None:
    async with (
        serving() as vectors,
        server(script=SHORT, role_of=role_of) as at,
        open_threads(tmp_path) as store,
    ):
        given = settings(at, of(vectors))
        record = await store.create(PROBLEM, given, {})
        await store.run(record)
        values = await store.values(record.id)
        ids = [entry.id for entry in ledger_of(values["experience"])]
        bank = bank_of(record.settings)
        rows = await bank.store.read(COLLECTION, ids, vectors=True)
        about = await bank.store.open(COLLECTION)
        await bank.store.close()
    assert len(rows) == 9
    assert {len(row.vector) for row in rows.values()} == {2}
    assert about == {"embedder": "m", "dimension": 2}
    texts = [text for body in vectors.bodies for text in body["input"]]
    assert sorted(texts) == sorted(set(texts))
    assert {row.text for row in rows.values()} <= set(texts)
    assert set(vectors.keys) == {"Bearer secret-key"}
    assert b"secret-key" not in all_bytes(tmp_path)


async def test_an_embedding_server_that_fails_stops_the_run_which_then_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        serving() as vectors,
        server(script=SHORT, role_of=role_of) as at,
        open_threads(tmp_path) as store,
    ):
        record = await store.create(PROBLEM, settings(at, of(vectors)), {})

        def at_one(event: Any) -> None:
            if event["event"] == "experience":
                vectors.answers = [(500, {"error": {"message": "out of memory"}})] * 100

        monkeypatch.setattr(served_embeddings, "_LONGEST_PAUSE", 0.0)
        with pytest.raises(EndpointDown, match=r"/v1/embeddings: HTTP 500 \(out of memory\)"):
            await store.run(record, on_event=at_one)
        stopped = await store.get(record.id)
        assert (stopped.status, "/v1/embeddings" in stopped.cause) == ("stopped", True)
        vectors.answers = []
        result = await store.run(record)
        assert result.iterations == 3
        seeds = [request.seed for request in at.requests]
        assert len(seeds) == len(set(seeds)) == 3 * (2 * 3 + 2)
        await bank_of(record.settings).store.close()


@pytest.mark.parametrize(
    ("embeddings", "error", "said"),
    [
        ({"base_url": "http://127.0.0.1:9/v1", "model": "m"}, EndpointDown, "can't be reached"),
        ({"folder": "nowhere"}, StorageError, "nowhere is no folder"),
        ({"folder": "tests"}, (MissingExtra, StorageError), "embeddings|sentence-transformers"),
    ],
)
async def test_an_embedder_that_cant_be_used_is_found_before_any_call(
    embeddings: dict[str, Any],
    error: Any,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(served_embeddings, "_LONGEST_PAUSE", 0.0)
    async with server(script=SHORT, role_of=role_of) as at:
        with pytest.raises(error, match=said):
            await asolve(PROBLEM, settings(at, embeddings))
        assert at.requests == []


async def test_a_wrong_key_is_found_before_any_call() -> None:
    async with (
        serving((401, {"error": {"message": "no"}})) as vectors,
        server(script=SHORT, role_of=role_of) as at,
    ):
        with pytest.raises(RequestRefused, match="the key is refused"):
            await asolve(PROBLEM, settings(at, of(vectors)))
        assert at.requests == []


async def test_a_resume_with_another_embedder_is_refused_by_its_store(tmp_path: Path) -> None:
    async with (
        serving() as vectors,
        server(script=SHORT, role_of=role_of) as at,
        open_threads(tmp_path) as store,
    ):
        record = await store.create(PROBLEM, settings(at, {}, iterations=1), {})
        await store.run(record)
        other = settings(at, of(vectors), iterations=2, memory_folder=record.settings.memory_folder)
        assert differences(record, other, {}) == []
        with pytest.raises(StorageError) as raised:
            await store.run(replace(record, settings=other))
        assert str(raised.value) == (
            f"memory: {record.settings.memory_folder} holds vectors of hashing-1024, but the "
            "settings ask for m. Run `tmas memory reembed`, or set embeddings back."
        )
        assert await bank_of(other).reembed() == 3
        result = await store.run(replace(record, settings=other))
        assert result.iterations == 2
        await bank_of(other).store.close()
