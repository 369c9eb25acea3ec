"""Pushes full weights from GPU to GPU, by vLLM's own transfer over NCCL.

Written after vLLM 0.32 (`vllm.distributed.weight_transfer`), which must be installed beside the
trainer, too. Trainer and server need GPUs of their own: NCCL refuses to meet itself on one. The
tests run it with vLLM's part replaced, and compare that part's names with the real ones.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from tmas_graph.errors import EndpointDown, MissingExtra
from tmas_graph.grpo.pausing import paused
from tmas_graph.grpo.pushing_disk import served_model
from tmas_graph.grpo.sampling import Served
from tmas_graph.grpo.server import Patience, Server
from tmas_graph.grpo.tied import refuse_tied

WORLD = "/get_world_size"
_SHORT = 60.0


class Engine(Protocol):
    """The part of vLLM's trainer engine that is used."""

    def send_weights(self) -> None:
        """Send all weights, and return once they have arrived."""
        ...

    def shutdown(self) -> None:
        """Leave the group of processes."""
        ...


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where trainer and server meet, and how many they are."""

    url: str
    host: str
    port: int
    rank: int
    world_size: int
    seconds: float


Connect = Callable[[Meeting, Any], Engine]


class NcclPusher:
    """Pushes all weights of a model to the GPUs of a server."""

    def __init__(
        self,
        server: Server,
        *,
        rank: int = 0,
        host: str = "127.0.0.1",
        seconds: float = 600.0,
        connect: Connect | None = None,
    ) -> None:
        """Meet the server at `host`, an address of this machine that the server reaches."""
        self._server = server
        self._rank = rank
        self._host = host
        self._seconds = seconds
        self._connect = connect or vllm_engine
        self._engine: Engine | None = None
        self._model = ""

    async def push(self, model: Any, version: int) -> Served:
        """Send the weights as they are now; see `Pusher.push`."""
        refuse_tied(model, "nccl")
        if self._rank:
            # The others gather in the thread that they train in, where their GPU is the current.
            self._engine = self._engine or self._connect(self._meeting(0, 0), model)
            self._engine.send_weights()
            return Served(self._model, version)
        self._model = self._model or await served_model(self._server, "nccl")
        if self._engine is None:
            told: Any = await self._server.get(WORLD, Patience(_SHORT))
            meeting = self._meeting(_free_port(self._host), 1 + int(told["world_size"]))
            self._engine = await self._within(lambda: self._connect(meeting, model), "meet")
        async with paused(self._server, self._seconds):
            await self._within(self._engine.send_weights, "take the weights")
        return Served(self._model, version)

    async def close(self) -> None:
        """Leave the group, so that another trainer can meet the server."""
        if self._engine is not None:
            self._engine.shutdown()
            self._engine = None

    def _meeting(self, port: int, world_size: int) -> Meeting:
        return Meeting(
            self._server.url, self._host, port, self._rank, world_size, timeout_of(self._seconds)
        )

    async def _within(self, work: Callable[[], Any], what: str) -> Any:
        """Do blocking `work` in a thread, which is left alone after the deadline.

        A collective whose peer has gone never returns, and nothing can end it.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await _in_thread(work)
        except MissingExtra:
            raise
        except Exception as error:
            self._engine = None  # the group can't be used again
            why = str(error) or type(error).__name__
            raise EndpointDown(
                f"{self._server.url}: it didn't {what} over NCCL ({why:.300}). Its weights may be "
                "partly old and partly new: start the server again, then "
                "`tmas train --resume`, which pushes them anew."
            ) from error


def vllm_engine(meeting: Meeting, model: Any) -> Engine:
    """Meet the server by vLLM's own means.

    Raises:
        MissingExtra: vLLM isn't installed here.
    """
    try:
        from vllm.distributed.weight_transfer import (  # noqa: PLC0415  (an extra)
            HTTPVLLMWeightSyncClient,
            ModuleSource,
            WeightTransferTrainerFactory,
        )
        from vllm.distributed.weight_transfer.nccl_engine import (  # noqa: PLC0415
            NCCLTrainerInitInfo,
        )
    except ImportError as error:
        raise MissingExtra(
            "vLLM isn't installed beside the trainer, and a push by nccl needs it. "
            'Run: pip install "tmas-graph[vllm]", or push by disk.'
        ) from error
    engine: Engine = WeightTransferTrainerFactory.trainer_init(
        NCCLTrainerInitInfo(
            rank=meeting.rank,
            master_address=meeting.host,
            master_port=meeting.port,
            world_size=meeting.world_size,
        ),
        client=HTTPVLLMWeightSyncClient(meeting.url, timeout=meeting.seconds),
        source=ModuleSource(model),
    )
    return engine


def timeout_of(seconds: float) -> float:
    """Seconds for each of vLLM's own requests: a little less than for all of them."""
    return 0.9 * seconds


async def _in_thread(work: Callable[[], Any]) -> Any:
    """As asyncio.to_thread, but the interpreter doesn't wait for the thread when it ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():  # the deadline came first
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def run() -> None:
        try:
            result, error = work(), None
        except BaseException as caught:
            result, error = None, caught
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="nccl", daemon=True).start()
    return await done


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
