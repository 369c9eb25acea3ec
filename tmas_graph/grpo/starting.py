"""Makes a trainer of settings: policy, optimiser, data and server, fresh or from a checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import torch
import torch.distributed as dist

from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.grpo import checkpoint, dumping, lessons, parity, tokenising
from tmas_graph.grpo.asking import Asking
from tmas_graph.grpo.checkpoint import TrainState
from tmas_graph.grpo.interfaces import Endpoint, Pusher
from tmas_graph.grpo.loading import load
from tmas_graph.grpo.metrics import METRICS, Metrics
from tmas_graph.grpo.optimizing import optimizer_of
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.pushing_disk import DiskPusher
from tmas_graph.grpo.pushing_lora import LoraPusher
from tmas_graph.grpo.pushing_nccl import NcclPusher
from tmas_graph.grpo.ranks import Ranks
from tmas_graph.grpo.rows import Message, Row, read
from tmas_graph.grpo.sampling import Sampler, Sampling, Served
from tmas_graph.grpo.server import Patience, Server
from tmas_graph.grpo.settings import RunSettings
from tmas_graph.grpo.settings_file import dump
from tmas_graph.grpo.trainer import CHECKPOINTS

SETTINGS = "settings.toml"
_DAY = timedelta(days=1)
"""Ranks wait for the first one while it samples; that may take longer than any collective."""


def start_ranks() -> Ranks:
    """Join the other processes where torchrun has started this one."""
    if not (dist.is_initialized() or dist.is_torchelastic_launched()):
        return Ranks()
    gpus = torch.cuda.is_available()
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl" if gpus else "gloo", timeout=_DAY)
    if gpus:
        torch.cuda.set_device(dist.get_node_local_rank())
    return Ranks.current("cuda" if gpus else "cpu")


def open_folder(settings: RunSettings, resume: bool) -> None:
    """Make the folder of the run, and keep the settings in it.

    Raises:
        SettingsError: there is a run already, and it isn't to go on.
        StorageError: the folder can't be written.
    """
    out = settings.out
    if not resume and ((out / METRICS).exists() or (out / CHECKPOINTS).exists()):
        raise SettingsError(
            f"out: {out} holds a run already. Go on with --resume, or give another folder."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / SETTINGS).write_text(dump(settings), encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"{out}: can't be written ({error.strerror}). Give another folder as out."
        ) from error


def policy_of(settings: RunSettings, ranks: Ranks) -> Policy:
    """Load the policy; full weights are spread over all ranks, an adapter is on each.

    Raises:
        StorageError, SettingsError, MissingExtra: it can't be loaded.
    """
    torch.manual_seed(settings.seed)  # an adapter's first weights are random
    policy = load(settings.model)
    if ranks.size > 1 and settings.model.lora is None:
        from torch.distributed.fsdp import MixedPrecisionPolicy  # noqa: PLC0415  (slow to import)

        lower = None if settings.model.autocast == "none" else torch.bfloat16
        policy.shard(MixedPrecisionPolicy(param_dtype=lower, reduce_dtype=torch.float32))
    return policy


@dataclass(frozen=True, slots=True)
class Begun:
    """Where a run begins, and with what."""

    policy: Policy
    optimizer: torch.optim.Optimizer
    state: TrainState
    saved: int


def begin(settings: RunSettings, ranks: Ranks, resume: bool, metrics: Metrics) -> Begun:
    """Load everything; if the run is to go on, from its newest checkpoint, if it has one.

    Raises:
        StorageError, SettingsError, MissingExtra: something can't be loaded.
    """
    policy = policy_of(settings, ranks)
    optimizer = optimizer_of(policy.parameters(), settings.optimizer)
    place = checkpoint.latest(settings.out / CHECKPOINTS) if resume else None
    state, saved = TrainState(), -1
    if place is not None:
        state = checkpoint.restore(policy, optimizer, checkpoint.read(place))
        saved = state.step
    if resume and ranks.rank == 0:
        metrics.forget_after(saved)
        dumping.forget_after(settings.out, max(saved, 0))
    return Begun(policy, optimizer, state, saved)


def rows_of(settings: RunSettings) -> list[Row]:
    """Read the rows of the modes that are trained on."""
    return [row for row in read(settings.data.train) if row.source in settings.data.modes]


def held_out_of(settings: RunSettings) -> list[Row]:
    """Read the held-out rows, if there are any."""
    if settings.data.held_out is None or not settings.evaluation.every:
        return []
    return [row for row in read(settings.data.held_out) if row.source in settings.data.modes]


def asking_of(settings: RunSettings, rows: Sequence[Row]) -> Asking:
    """Order the rows for drawing."""
    sampling = settings.sampling
    return Asking(
        rows,
        group_size=sampling.group_size,
        paired=sampling.paired,
        shuffle=settings.data.shuffle,
        seed=settings.seed,
    )


def verified_of(settings: RunSettings) -> lessons.Verified:
    """Read and tokenise verified completions."""
    pairs = lessons.read_verified(settings.data.train)
    tokenizer = tokenising.tokenizer_of(settings.model.model)
    template = settings.sampling.template
    samples = [tokenising.sample_of(tokenizer, *pair, template) for pair in pairs]
    rows = [Row("normal", prompt, "", "", at) for at, (prompt, _) in enumerate(pairs)]
    return lessons.Verified(samples, asking_of(settings, rows), settings.sampling.groups)


def sampling_of(settings: RunSettings) -> Sampling:
    """How completions are drawn, as the sampler has it."""
    own = settings.sampling
    return Sampling(own.temperature, own.max_tokens, own.group_size, own.template)


def endpoint_of(settings: RunSettings, server: Server, ranks: Ranks) -> Endpoint:
    """Give the parts that speak to a vLLM."""
    own = settings.server
    sampler = Sampler(
        server,
        Served(""),  # the first push names it
        sampling_of(settings),
        concurrency=own.concurrency,
        patience=Patience(own.timeout_seconds),
    )
    check = partial(_checked, sampler, own.parity_bound)
    return Endpoint(sampler, _pusher(settings, server, ranks), check)


def _pusher(settings: RunSettings, server: Server, ranks: Ranks) -> Pusher:
    folder, own = settings.out / "pushed", settings.server
    if own.push == "nccl":
        return NcclPusher(server, rank=ranks.rank, seconds=own.timeout_seconds)
    if own.push == "disk":
        return DiskPusher(server, folder, rank=ranks.rank, seconds=own.timeout_seconds)
    return LoraPusher(server, folder, rank=ranks.rank)


async def _checked(
    sampler: Sampler, bound: float, prompt: Sequence[Message], logprobs: parity.Logprobs
) -> parity.Parity:
    return await parity.check(sampler, prompt, logprobs, bound=bound)
