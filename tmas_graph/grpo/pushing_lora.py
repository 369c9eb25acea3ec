"""Pushes a LoRA adapter: the server loads it under a new name, and never stops.

Each version has a name and a folder of its own, since a server that knows a name keeps what it
has under it, prefix cache and all. The version before stays loaded: samples of it may be on
their way.
"""

import asyncio
import shutil
import uuid
from collections import deque
from pathlib import Path
from typing import Any

from tmas_graph.errors import CallError, RequestRefused, SettingsError
from tmas_graph.grpo import weights
from tmas_graph.grpo.pausing import told
from tmas_graph.grpo.sampling import Served
from tmas_graph.grpo.server import Patience, Server
from tmas_graph.grpo.tied import command, is_tied

LOAD, UNLOAD, MODELS = "/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/v1/models"
_KEPT = 2
"""Versions that stay loaded; `tmas train serve` makes room for as many."""
_TIED = ("embed_tokens", "lm_head")


class LoraPusher:
    """Pushes the adapter of a peft model through a folder that the server reads, too."""

    def __init__(
        self, server: Server, folder: Path, *, rank: int = 0, seconds: float = 120.0
    ) -> None:
        """Write adapters below `folder`; each request may take `seconds`."""
        self._server = server
        self._folder = folder.absolute()  # the server may run in another one
        self._rank = rank
        self._patience = Patience(seconds, attempts=3)
        self._run = uuid.uuid4().hex[:6]  # what was killed may have left the same versions
        self._loaded: deque[str] = deque()
        self._begun = False

    async def push(self, model: Any, version: int) -> Served:
        """Load the adapter as it is now; see `Pusher.push`."""
        _check(model)
        name = f"policy-{self._run}-{version}"
        if self._rank:
            weights.take_part(weights.adapter_weights(model))
            return Served(name, version)
        if not self._begun:
            await self._unload_left_behind()
        await asyncio.to_thread(self._write, model, name)
        await self._load(name)
        self._loaded.append(name)
        while len(self._loaded) > _KEPT:
            await self._unload(self._loaded.popleft())
        return Served(name, version)

    async def close(self) -> None:
        """Unload what it has loaded."""
        while self._loaded:
            await self._unload(self._loaded.popleft())

    def _write(self, model: Any, name: str) -> None:
        place = self._folder / name
        shutil.rmtree(place, ignore_errors=True)  # of a push of the same version that failed
        weights.written(place, lambda partial: weights.write_adapter(model, partial))

    async def _load(self, name: str) -> None:
        body = {"lora_name": name, "lora_path": str(self._folder / name)}
        try:
            await self._server.post(LOAD, body, self._patience)
        except RequestRefused as error:
            if error.status == 400 and "already" in str(error):
                return  # an attempt whose answer was lost: the name is of this run alone
            raise
        except CallError as error:
            raise told(
                error,
                "The server still samples from the version before; push again, or see whether "
                "its --max-lora-rank is too low.",
            ) from error

    async def _unload(self, name: str) -> None:
        try:
            await self._server.post(UNLOAD, {"lora_name": name}, self._patience)
        except RequestRefused as error:
            if error.status not in (400, 404):  # else it is gone, as after a restart
                raise
        await asyncio.to_thread(shutil.rmtree, self._folder / name, ignore_errors=True)

    async def _unload_left_behind(self) -> None:
        """Unload what a trainer that was killed has loaded from the same folder."""
        listed: Any = await self._server.get(MODELS, self._patience)
        for card in listed["data"]:
            root = Path(str(card.get("root") or ""))
            if root.parent == self._folder:
                await self._unload(str(card["id"]))
        await asyncio.to_thread(self._remove_left_behind)
        self._begun = True

    def _remove_left_behind(self) -> None:
        """Remove what the server, started again, doesn't know of, or what was half written."""
        for pattern in ("policy-*", ".policy-*.partial"):
            for place in self._folder.glob(pattern):
                shutil.rmtree(place, ignore_errors=True)


def _check(model: Any) -> None:
    """Refuse what a server can't be given as an adapter."""
    if not hasattr(model, "peft_config"):
        raise SettingsError(
            "push by LoRA: the model has no adapter (full weights are trained). "
            "Push by disk or nccl, or train a LoRA."
        )
    base = model.get_base_model()
    if not is_tied(base):
        return
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and any(part in name for part in _TIED):
            source = getattr(base.config, "_name_or_path", "") or "MODEL"
            raise SettingsError(
                f"{source}: {name} is trained, but embeddings and output head are tied "
                "(tie_word_embeddings): the server would change one of them alone. "
                f"Leave it out of the adapter, or run `{command(source)}` and use the copy."
            )
