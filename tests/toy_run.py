"""A toy task for whole runs: its model, data, settings and the server that they are run at."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tiny_models import tiny_qwen

from benchmarks.policy_server import PolicyServer
from tmas_graph.grpo.interfaces import Tools
from tmas_graph.grpo.settings import RunSettings
from tmas_graph.grpo.settings_file import resolved

SYMBOLS = "abcdefgh?=!#"
END = len(SYMBOLS)
PROBLEMS = "abcdefgh"
TOOLS = Tools(lambda text, gold: text.strip() == gold, lambda solution, strategy: 0.0)


def tiny():
    return tiny_qwen(vocab_size=END + 1)


def policy_server() -> PolicyServer:
    """One that draws a symbol each."""
    return PolicyServer(tiny(), SYMBOLS)


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
