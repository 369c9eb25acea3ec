"""A server in this process that samples from the very policy that is pushed to it.

What it draws depends on weights and seeds alone, so runs against it can be compared bit for bit.
"""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tiny_models import tiny_qwen

from tmas_graph.errors import PolicyMismatch
from tmas_graph.grpo import parity
from tmas_graph.grpo.interfaces import Endpoint, Tools
from tmas_graph.grpo.samples import Sample
from tmas_graph.grpo.sampling import Served
from tmas_graph.grpo.settings import RunSettings
from tmas_graph.grpo.settings_file import resolved
from tmas_graph.grpo.weights import full_weights

SYMBOLS = "abcdefgh?=!#"
END = len(SYMBOLS)
PROBLEMS = "abcdefgh"
TOOLS = Tools(lambda text, gold: text.strip() == gold, lambda solution, strategy: 0.0)


def tiny():
    return tiny_qwen(vocab_size=END + 1)


class PolicyServer:
    """Sampler, pusher and parity check in one."""

    def __init__(self) -> None:
        self.served = Served("")
        self.events: list[str] = []
        self.at: dict[str, Callable[[], object]] = {}
        """What is done at an event, such as "push 2"."""
        self.offset = 0.0
        """Added to each log-probability that is told at a parity check."""
        self.trained: torch.nn.Module = torch.nn.Identity()
        """The trainer's own model."""
        self._model = tiny()

    async def _note(self, event: str) -> None:
        self.events.append(event)
        self.at.get(event, lambda: None)()
        await asyncio.sleep(0)  # where a cancellation is noticed

    async def push(self, model: torch.nn.Module, version: int) -> Served:
        await self._note(f"push {version}")
        self.trained = model
        if hasattr(model, "merge_and_unload"):
            weights = copy.deepcopy(model).merge_and_unload().state_dict()  # merging changes it
        else:
            weights = dict(full_weights(model))
        self._model.load_state_dict(weights)
        return Served(f"policy-{version}", version)

    async def close(self) -> None:
        self.events.append("close")

    async def group(self, messages, seed: int, n: int | None = None) -> tuple[Sample, ...]:
        await self._note(f"group at {self.served.version}")
        assert n is not None
        prompt = tuple(SYMBOLS.index(one) for one in messages[-1]["content"])
        return tuple(self._samples(prompt, range(seed, seed + n)))

    @torch.no_grad()
    def _samples(self, prompt: tuple[int, ...], seeds: range) -> Iterator[Sample]:
        """One symbol each; the server ends a completion after it."""
        logs = self._model(torch.tensor([prompt])).logits[0, -1].log_softmax(-1)
        for seed in seeds:
            chance = torch.Generator().manual_seed(seed)
            [drawn] = torch.multinomial(logs.exp(), 1, generator=chance).tolist()
            text, logprobs = (*SYMBOLS, "")[drawn], (float(logs[drawn]),)
            version = self.served.version
            yield Sample(prompt, (drawn,), logprobs, text=text, version=version, seed=seed)

    async def check(self, prompt, logprobs) -> parity.Parity:
        group = await self.group(prompt, 0, 2)
        found = parity.compare(group, lambda *ids: [one + self.offset for one in logprobs(*ids)])
        if found.difference > 1e-3:
            raise PolicyMismatch(f"parity: {found.server} and {found.trainer}", found.difference)
        return found

    @asynccontextmanager
    async def opened(self, settings: RunSettings, ranks: object) -> AsyncIterator[Endpoint]:
        yield Endpoint(self, self, self.check)


def row(problem: str, source: str = "normal", gold: str | None = None) -> dict:
    """A problem is a symbol, and its answer another one; the hint in the bank gives it away."""
    gold = gold or PROBLEMS[(PROBLEMS.index(problem) + 3) % len(PROBLEMS)]
    alone = [{"role": "user", "content": f"{problem}?"}]
    hinted = [{"role": "user", "content": f"={gold}{problem}?"}]
    extra = {
        "index": PROBLEMS.index(problem),
        "problem": problem,
        "problem_prompt": alone,
        "p0": 0.25,
        "experience": [f"the answer is {gold}"] if source == "experience" else [],
        "strategies": [{"name": "adding", "essence": ""}] if source == "guideline" else [],
    }
    return {
        "prompt": hinted if source == "experience" else alone,
        "data_source": "math",
        "reward_model": {"ground_truth": gold, "style": "rule"},
        "extra_info": extra,
        "_source": source,
    }


def write_rows(file: Path, rows: Sequence[dict]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), file)
    return file


def prepared(folder: Path, **changes: object) -> RunSettings:
    """Settings of a small run, with model and data in `folder`; `loss__clip_high=1` sets one."""
    if not (folder / "model").exists():
        tiny().save_pretrained(folder / "model")
        rows = [row(one, source) for one in PROBLEMS for source in ("normal", "experience")]
        write_rows(folder / "train.parquet", rows)
    values: dict = {
        "out": str(folder / "run"),
        "steps": 4,
        "data": {"train": str(folder / "train.parquet")},
        "model": {
            "model": str(folder / "model"),
            "lora": None,
            "autocast": "none",
            "gradient_checkpointing": False,
        },
        "server": {"push": "disk"},
        "sampling": {"group_size": 8, "groups": 4, "max_tokens": 2, "ahead": 0},
        "optimizer": {"learning_rate": 5e-3},
        "checkpoints": {"every": 2},
    }
    for name, value in changes.items():
        *tables, last = name.split("__")
        place = values
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = value
    return resolved(json.loads(json.dumps(values)), "test")
