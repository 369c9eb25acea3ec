"""A push from GPU to GPU, with vLLM's own part replaced."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from grpo import tiny
from grpo.fake_vllm import NAME, FakeVllm
from tmas_graph.errors import EndpointDown, MissingExtra, SettingsError
from tmas_graph.grpo.pushing_nccl import Meeting, NcclPusher, _in_thread
from tmas_graph.grpo.sampling import Served
from tmas_graph.grpo.server import Server

pytestmark = pytest.mark.anyio


@dataclass
class Transfer:
    """Stands for vLLM's engine."""

    fake: FakeVllm
    did: list[str] = field(default_factory=list)
    met: list[Meeting] = field(default_factory=list)
    fault: threading.Event | Exception | None = None

    def connect(self, meeting: Meeting, model: Any) -> "Transfer":
        self.met.append(meeting)
        return self

    def send_weights(self) -> None:
        self.did.append(f"sent, paused: {self.fake.paused}")
        if isinstance(self.fault, threading.Event):
            self.fault.wait()
        elif self.fault:
            raise self.fault

    def shutdown(self) -> None:
        self.did.append("left")


@pytest.fixture
async def server(fake: FakeVllm) -> AsyncIterator[Server]:
    async with Server(fake.url) as server:
        yield server


async def test_weights_are_sent_to_a_paused_server(fake: FakeVllm, server: Server) -> None:
    transfer = Transfer(fake)
    pusher = NcclPusher(server, connect=transfer.connect)
    assert await pusher.push(tiny.model(), 1) == Served(NAME, 1)
    assert await pusher.push(tiny.model(), 2) == Served(NAME, 2)
    await pusher.close()
    assert transfer.did == ["sent, paused: True", "sent, paused: True", "left"]
    [meeting] = transfer.met
    assert (meeting.url, meeting.rank, meeting.world_size) == (fake.url, 0, 2)
    assert not fake.paused


async def test_other_ranks_only_send(fake: FakeVllm, server: Server) -> None:
    transfer = Transfer(fake)
    await NcclPusher(server, rank=1, connect=transfer.connect).push(tiny.model(), 1)
    assert [meeting.rank for meeting in transfer.met] == [1]
    assert len(transfer.did) == 1
    assert fake.asked == []


async def test_it_goes_on_where_sending_fails(fake: FakeVllm, server: Server) -> None:
    transfer = Transfer(fake, fault=RuntimeError("NCCL error 3"))
    pusher = NcclPusher(server, connect=transfer.connect)
    with pytest.raises(EndpointDown, match=r"NCCL error 3.*start the server again"):
        await pusher.push(tiny.model(), 1)
    assert not fake.paused
    transfer.fault = None
    await pusher.push(tiny.model(), 1)
    assert len(transfer.met) == 2  # the group of before can't be used again


async def test_it_goes_on_where_sending_never_ends(fake: FakeVllm, server: Server) -> None:
    release = threading.Event()
    transfer = Transfer(fake, fault=release)
    with pytest.raises(EndpointDown, match="didn't take the weights over NCCL"):
        await NcclPusher(server, seconds=0.5, connect=transfer.connect).push(tiny.model(), 1)
    assert not fake.paused
    release.set()


def test_what_ends_after_all_have_gone_disturbs_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    release = threading.Event()

    async def given_up() -> threading.Thread:
        before = set(threading.enumerate())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_in_thread(release.wait), 0.01)
        [sending] = set(threading.enumerate()) - before
        return sending

    sending = asyncio.run(given_up())
    release.set()
    sending.join()
    assert raised == []


async def test_a_tied_model_is_refused(fake: FakeVllm, server: Server) -> None:
    with pytest.raises(SettingsError, match=r"push by nccl.*grpo untie"):
        await NcclPusher(server, connect=Transfer(fake).connect).push(tiny.model(tied=True), 1)


async def test_a_missing_vllm_is_named(server: Server) -> None:
    with pytest.raises(MissingExtra, match=r"tmas-graph\[vllm\]"):
        await NcclPusher(server).push(tiny.model(), 1)
