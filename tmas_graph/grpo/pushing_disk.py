"""Pushes full weights through a folder: the server stops, reads it, and goes on."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

from tmas_graph.errors import CallError, SettingsError, StorageError
from tmas_graph.grpo import weights
from tmas_graph.grpo.pausing import paused, told
from tmas_graph.grpo.sampling import Served
from tmas_graph.grpo.server import Patience, Server
from tmas_graph.grpo.tied import command, is_tied_folder, refuse_tied

RPC, MODELS = "/collective_rpc", "/v1/models"
_SHORT = 60.0


class DiskPusher:
    """Pushes all weights of a model through a folder that the server reads, too."""

    def __init__(
        self, server: Server, folder: Path, *, rank: int = 0, seconds: float = 1800.0
    ) -> None:
        """Write weights below `folder`.

        What the server works on when it is to stop may take `seconds`, and so may its reading.
        """
        self._server = server
        self._folder = folder.absolute()  # the server may run in another one
        self._rank = rank
        self._seconds = seconds
        self._model = ""
        """Under what name the server has the model; found out at the first push."""

    async def push(self, model: Any, version: int) -> Served:
        """Write the weights as they are now, and have them read; see `Pusher.push`."""
        refuse_tied(model, "disk")
        place = self._folder / f"weights-{version}"
        if self._rank:
            weights.take_part(weights.full_weights(model))
            return Served(self._model, version)
        self._model = self._model or await served_model(self._server, "disk")
        await asyncio.to_thread(self._write, model, place)
        async with paused(self._server, self._seconds):
            await self._reload(place)
        await asyncio.to_thread(self._remove_others, place)
        return Served(self._model, version)

    async def close(self) -> None:
        """Leave everything as it is: the server may be started again from the folder."""

    def _write(self, model: Any, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)  # of a push of the same version that failed
        weights.written(place, lambda partial: weights.write_full(model, partial))

    async def _reload(self, place: Path) -> None:
        arguments = {"weights_path": str(place)}
        body = {"method": "reload_weights", "kwargs": arguments, "timeout": self._seconds}
        try:
            await self._server.post(RPC, body, Patience(self._seconds, attempts=1))
        except CallError as error:
            raise told(
                error,
                "The server goes on, but its weights may be partly old and partly new: push again "
                "before you sample, or start it again.",
            ) from error

    def _remove_others(self, kept: Path) -> None:
        for old in self._folder.glob("weights-*"):
            if old != kept:
                shutil.rmtree(old, ignore_errors=True)


async def served_model(server: Server, way: str) -> str:
    """Give the name of the model that the server has, and refuse a tied one where that is seen.

    Raises:
        SettingsError: the output head of what it serves is tied.
        EndpointDown, RequestRefused: it doesn't say.
    """
    listed: Any = await server.get(MODELS, Patience(_SHORT))
    card = listed["data"][0]
    root = Path(str(card.get("root") or ""))
    try:
        tied = is_tied_folder(root)
    except StorageError:
        tied = False  # on another machine, or a name of the hub's: the parity check is left
    if tied:
        raise SettingsError(
            f"{server.url}: it serves {root}, whose output head is tied to its embeddings, and a "
            f"push by {way} would leave it with the old head. "
            f"Run `{command(root)}` and serve the copy."
        )
    return str(card["id"])
