"""A training run from settings to the trained policy, fresh or resumed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from rich.console import Console

from tmas_graph.grpo import judging, starting, tracking
from tmas_graph.grpo.asking import Asking
from tmas_graph.grpo.checkpoint import TrainState
from tmas_graph.grpo.drawing import Drawing
from tmas_graph.grpo.exporting import FINAL, export
from tmas_graph.grpo.grading import boxed_match, shared_words
from tmas_graph.grpo.interfaces import Endpoint, Tools
from tmas_graph.grpo.lessons import Drawn
from tmas_graph.grpo.metrics import Metrics
from tmas_graph.grpo.publishing import Publisher, Trial
from tmas_graph.grpo.rank_talk import RankTalk
from tmas_graph.grpo.ranks import Ranks
from tmas_graph.grpo.scoring import Scoring
from tmas_graph.grpo.server import Server
from tmas_graph.grpo.settings import RunSettings
from tmas_graph.grpo.together import OneThread
from tmas_graph.grpo.trainer import Learner, Trainer
from tmas_graph.grpo.watching import Unwatched, View, Watch

OpenEndpoint = Callable[[RunSettings, Ranks], AbstractAsyncContextManager[Endpoint]]


@asynccontextmanager
async def open_vllm(settings: RunSettings, ranks: Ranks, key: str = "") -> AsyncIterator[Endpoint]:
    """Connect to the vLLM that `settings` name, in the name of `key`."""
    async with Server(settings.server.url, key) as server:
        endpoint = starting.endpoint_of(settings, server, ranks)
        yield endpoint


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a run is given besides its settings."""

    tools: Tools = field(default_factory=lambda: Tools(boxed_match, shared_words))
    """By default answers are compared letter by letter, and strategies word by word."""
    open_endpoint: OpenEndpoint = open_vllm
    watch: Watch = field(default_factory=Unwatched)
    judge_key: str = ""
    """API key of the judge that the settings name."""


def train(
    settings: RunSettings, around: Surroundings | None = None, *, resume: bool = False
) -> TrainState:
    """Train, and give where the run stands at its end; its policy is in the folder `final`.

    Raises:
        TmasError: it can't begin, or can't go on; the text says what to do.
        KeyboardInterrupt: Ctrl-C; what was learned is saved.
    """
    tracking.check(settings)
    ranks = starting.start_ranks()
    if ranks.rank == 0:
        starting.open_folder(settings, resume)
    trackers = tracking.trackers_of(settings) if ranks.rank == 0 else ()
    metrics = Metrics(settings.out, trackers)
    talk = RankTalk(ranks, OneThread("training", _use_gpu))
    try:
        begun = starting.begin(settings, ranks, resume, metrics)
        watch = (around or Surroundings()).watch
        learner = Learner(
            settings, begun.policy, begun.optimizer, talk, metrics, watch, begun.state, begun.saved
        )
        return asyncio.run(_trained(learner, around or Surroundings()))
    finally:
        talk.thread.close()
        metrics.close()


def train_in_terminal(
    settings: RunSettings,
    environment: Mapping[str, str],
    tools_of: Callable[[RunSettings, str], Tools] | None = None,
    *,
    resume: bool = False,
) -> TrainState:
    """Train with a view of how it goes, and with the API keys that the environment holds.

    Args:
        settings: of the run.
        environment: its variables; `VLLM_API_KEY` is the policy's, settings name the judge's.
        tools_of: what grades, given the settings and the key of the policy's server.
        resume: go on from the newest checkpoint.

    Raises:
        TmasError, KeyboardInterrupt: as `train` does.
    """
    key = environment.get("VLLM_API_KEY", "")
    judge_key = judging.key_of(settings.novelty.judge, environment)
    with View(Console(), settings.steps) as view:
        around = Surroundings(
            open_endpoint=partial(open_vllm, key=key), watch=view, judge_key=judge_key
        )
        if tools_of is not None:
            around = replace(around, tools=tools_of(settings, key))
        return train(settings, around, resume=resume)


async def _trained(learner: Learner, around: Surroundings) -> TrainState:
    settings, talk = learner.settings, learner.talk
    if settings.mode == "sft":
        state = await Trainer(learner, starting.verified_of(settings)).run()
    else:
        # All data is read before the server is asked for anything.
        asking = starting.asking_of(settings, starting.rows_of(settings))
        async with (
            judging.opened(settings.novelty.judge, around.judge_key, settings.out) as judge,
            around.open_endpoint(settings, talk.ranks) as endpoint,
        ):
            tools = replace(around.tools, judge=around.tools.judge or judge)
            try:
                state = await _reinforced(learner, tools, endpoint, asking)
            finally:
                await endpoint.pusher.close()
    final = settings.out / FINAL
    await talk.thread.run(lambda: export(learner.policy, settings.model.model, final, talk))
    if talk.is_first:
        around.watch.note(f"{state.step} steps are done; the policy is in {final}.")
    return state


async def _reinforced(
    learner: Learner, tools: Tools, endpoint: Endpoint, asking: Asking
) -> TrainState:
    settings = learner.settings
    publisher = Publisher(
        endpoint,
        learner.policy,
        asking(0).row.prompt,
        settings.sampling.temperature,
        learner.talk,
        learner.log,
    )
    trial = Trial(endpoint, tools, starting.held_out_of(settings), settings.evaluation, learner.log)
    scoring = Scoring(tools, settings.rewards, settings.novelty, settings.advantages)
    drawing = Drawing(
        endpoint.sampler,
        asking,
        starting.sampling_of(settings),
        seed=settings.seed,
        ahead=settings.sampling.ahead,
    )
    async with drawing:
        lessons = Drawn(drawing, scoring, settings.sampling.groups)
        return await Trainer(learner, lessons, publisher, trial).run()


def _use_gpu() -> None:
    """Let the thread work on this rank's GPU; each thread has a current one of its own."""
    if torch.cuda.is_available() and torch.distributed.is_torchelastic_launched():
        torch.cuda.set_device(torch.distributed.get_node_local_rank())
