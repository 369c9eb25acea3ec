"""A Chroma server that processes share, and what is said when there is none."""

import asyncio
import multiprocessing
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from chroma_server import chroma_server, free_port, pid_of

from tmas_graph.errors import StorageError
from tmas_graph.memory import chroma_client
from tmas_graph.memory.chroma import Row, Store, Where
from tmas_graph.memory.embeddings import Hashing
from tmas_graph.memory.experience_bank import COLLECTION, ExperienceBank
from tmas_graph.memory.items import Item

pytestmark = pytest.mark.anyio


def items(who: int) -> list[Item]:
    own = [Item("technique", f"of process {who}: use the {i}-th power") for i in range(30)]
    return [*own, *(Item("pitfall", f"of all: {i} is odd") for i in range(10))]


def bank_at(url: str) -> ExperienceBank:
    return ExperienceBank(Store(Where(server=url)), Hashing())


def write(url: str, who: int) -> None:
    async def work() -> None:
        bank = bank_at(url)
        await asyncio.gather(*(bank.write([item], problem="p", iteration=0) for item in items(who)))
        assert await bank.read([item.id for item in items(who)]) == items(who)
        await bank.store.close()

    asyncio.run(work())


async def test_processes_write_to_one_server_at_the_same_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tmas_graph.memory.experience_bank", "chromadb"])
    with chroma_server(tmp_path / "data") as url:
        processes = [context.Process(target=write, args=(url, who)) for who in range(2)]
        for process in processes:
            process.start()
        for process in processes:
            await asyncio.to_thread(process.join)
            assert process.exitcode == 0
        bank = bank_at(url)
        every = {item.id: item for who in range(2) for item in items(who)}
        assert sorted(await bank.store.ids(COLLECTION)) == sorted(every)
        assert await bank.read(list(every)) == list(every.values())
        await bank.store.close()


async def test_a_server_that_ends_in_mid_run_is_said_and_found_again(tmp_path: Path) -> None:
    bank = None
    with chroma_server(tmp_path / "data") as url:
        bank = bank_at(url)
        await bank.write(items(0), problem="p", iteration=0)
    with pytest.raises(StorageError, match=rf"memory: no Chroma server answers at {url} \(.+\)\."):
        await bank.store.ids(COLLECTION)
    with pytest.raises(StorageError, match="Start it"):
        await bank.write(items(1), problem="p", iteration=0)
    await bank.store.close()


async def test_what_another_process_embedded_anew_is_noticed(tmp_path: Path) -> None:
    class Other:
        name, dimension = "other", 2

        async def embed(self, texts: object) -> list[list[float]]:
            return [[float(len(text)), 1.0] for text in texts]  # type: ignore[attr-defined]

    with chroma_server(tmp_path / "data") as url:
        one, other = bank_at(url), ExperienceBank(Store(Where(server=url)), Other())
        await one.write(items(0), problem="p", iteration=0)
        assert await other.reembed() == len(items(0))
        with pytest.raises(StorageError, match="holds vectors of other"):
            await one.write(items(1), problem="p", iteration=0)
        assert await one.read([item.id for item in items(0)]) == items(0)
        for bank in (one, other):
            await bank.store.close()


@contextmanager
def answering(said: bytes | None) -> Iterator[str]:
    """A server that says the same to everything, or with None never anything."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                held.append(connection)
                if said is not None:
                    connection.recv(9999)
                    connection.sendall(said)
                    connection.close()

        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


def http(status: str, body: str, length: int | None = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length or len(body)}"
    return f"{head}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (http("404 Not Found", "nope"), r"what answers at URL is no Chroma server \(HTTP 404\)"),
        (http("200 OK", "<html>"), r"what answers at URL is no Chroma server \(HTTP 200\)"),
        (http("200 OK", "<html>", 500), r"no Chroma server answers at URL \(peer closed"),
        (http("401 Unauthorized", "key?"), r"what answers at URL is no Chroma server \(HTTP 401\)"),
        (b"SSH-2.0-x\r\n", r"no Chroma server answers at URL \("),
        (http("200 OK", '{"nanosecond heartbeat": 1}'), r"no Chroma server answers at URL \("),
        (None, r"no Chroma server answers at URL \(timed out\)"),
    ],
)
async def test_what_is_no_chroma_server_is_said(
    said: bytes | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma_client, "_SECONDS_TO_CONNECT", 0.2)
    with answering(said) as url:
        store = Store(Where(server=url), connect=chroma_client.Client)
        with pytest.raises(StorageError, match=f"memory: {told.replace('URL', url)}") as raised:
            await store.open("x")
        assert "\n" not in str(raised.value)
        await store.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "nowhere.invalid"])
async def test_a_server_that_isnt_there_is_said(host: str) -> None:
    url = f"http://{host}:{free_port()}"
    store = Store(Where("a folder that isn't used", url))
    with pytest.raises(StorageError, match=f"no Chroma server answers at {url}"):
        await store.write("x", [Row("a", "t", {"n": 1}, [1.0])])
    await store.close()


async def test_a_server_that_hangs_later_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma_client, "_SECONDS", 0.3)
    with chroma_server(tmp_path / "data") as url:
        store = Store(Where(server=url), connect=chroma_client.Client)
        await store.write("tests", [Row("a", "t", {"n": 1}, [1.0])])
        pid = pid_of[url]
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(StorageError, match=r"no Chroma server answers at .* \(timed out\)"):
            await store.ids("tests")
        os.kill(pid, signal.SIGCONT)
        await store.close()
