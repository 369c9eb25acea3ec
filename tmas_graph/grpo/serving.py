"""The command that starts vLLM so that a trainer can sample there and push weights to it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.grpo.tied import command as untie
from tmas_graph.grpo.tied import is_tied_folder

Way = Literal["lora", "disk", "nccl"]
WAYS: tuple[Way, ...] = get_args(Way)
"""How weights are pushed."""
LOOPBACK = "127.0.0.1"
_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM takes as --max-lora-rank."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What is served, and for which way of pushing."""

    model: str
    """Folder, or name on the Hugging Face hub."""
    way: Way = "lora"
    gpus: int = 1
    """The model is spread over so many (tensor parallel)."""
    port: int = 8000
    lora_rank: int = 16
    max_model_len: int | None = None
    """Tokens of prompt and completion; None: all that the model can."""
    dtype: str | None = None
    """As vLLM's --dtype; None: that of the model."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, with what must stand in its environment."""

    environment: Mapping[str, str]
    arguments: tuple[str, ...]
    """After `vllm serve`."""

    def shell(self) -> str:
        """Give it as it is typed."""
        before = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*before, "vllm", "serve", shlex.join(self.arguments)])


WARNING = (
    "The routes that change weights are not protected by vLLM's --api-key: whoever reaches the "
    f"port can use them. Leave --host at {LOOPBACK}, or keep others out by a firewall."
)


def command_of(serving: Serving) -> Command:
    """Give the command that serves as `serving` says.

    Raises:
        SettingsError: it would serve what can't be pushed to.
    """
    _check(serving)
    environment = {"VLLM_SERVER_DEV_MODE": "1"}
    arguments = [
        serving.model,
        f"--host={LOOPBACK}",
        f"--port={serving.port}",
        "--logprobs-mode=processed_logprobs",  # of the distribution that is drawn from
        "--generation-config=vllm",  # else the model's own file changes what isn't asked for
    ]
    if serving.gpus > 1:
        arguments.append(f"--tensor-parallel-size={serving.gpus}")
    if serving.max_model_len:
        arguments.append(f"--max-model-len={serving.max_model_len}")
    if serving.dtype:
        arguments.append(f"--dtype={serving.dtype}")
    if serving.way == "lora":
        environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "1"
        rank = next(rank for rank in _RANKS if rank >= serving.lora_rank)
        # A version stays loaded while the next one is.
        arguments += ["--enable-lora", f"--max-lora-rank={rank}", "--max-loras=3"]
    if serving.way == "nccl":
        arguments.append('--weight-transfer-config={"backend": "nccl"}')
    return Command(environment, tuple(arguments))


def _check(serving: Serving) -> None:
    if serving.way not in WAYS:
        raise SettingsError(
            f"serve: weights can't be pushed by {serving.way!r}. Give one of {', '.join(WAYS)}."
        )
    if serving.gpus < 1:
        raise SettingsError(f"serve: {serving.gpus} GPUs. Give at least 1.")
    if serving.way == "lora":
        if not 1 <= serving.lora_rank <= _RANKS[-1]:
            raise SettingsError(
                f"serve: a LoRA of rank {serving.lora_rank}. vLLM takes 1 to {_RANKS[-1]}."
            )
        return
    try:
        tied = is_tied_folder(Path(serving.model))
    except StorageError:
        return  # a name on the hub: the pusher looks again
    if tied:
        raise SettingsError(
            f"{serving.model}: its output head is tied to its embeddings, and a push by "
            f"{serving.way} would leave the server with the old head. "
            f"Run `{untie(serving.model)}`, then train and serve the copy."
        )
