"""Writes samples as the published parquet: the columns that verl reads, of the same types in all.

Types are stated, not guessed: a file whose prompts show no bank, or a file without a row, has the
structs of all others, so that files can be joined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tmas_graph.errors import MissingExtra
from tmas_graph.training_data.pass_rates import PassRate
from tmas_graph.training_data.samples import Sample

DATA_SOURCE = "math"
STYLE = "rule"
"""How `reward_model` is graded: by rules, not by a model."""


def check() -> None:
    """Make sure that parquet can be written.

    Raises:
        MissingExtra: pyarrow isn't installed.
    """
    _pyarrow()


def record(
    sample: Sample, answer: str, rate: PassRate, *, index: int, split: str
) -> dict[str, Any]:
    """A row, as plain values."""
    origin = sample.origin
    return {
        "data_source": DATA_SOURCE,
        "prompt": list(sample.prompt),
        "reward_model": {"style": STYLE, "ground_truth": answer},
        "extra_info": {
            "index": index,
            "split": split,
            "problem": sample.problem.id,
            "question": sample.problem.question,
            "problem_prompt": list(sample.problem_prompt),
            "p0": rate.p0,
            "p0_rollouts": rate.rollouts,
            "experience": [asdict(item) for item in sample.experience],
            "strategies": [asdict(strategy) for strategy in sample.strategies],
            "rollouts": sample.rollouts,
            "iteration": origin.iteration,
            "run": origin.run,
            "method": origin.method,
            "model": origin.model,
            "thread": origin.thread,
        },
        "_source": sample.source,
    }


def write(file: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write `records`; a file that is there is overwritten.

    Raises:
        MissingExtra: pyarrow isn't installed.
        OSError: the file can't be written.
    """
    arrow, parquet = _pyarrow()
    table = arrow.Table.from_pylist([dict(one) for one in records], schema=schema())
    parquet.write_table(table, file, compression="zstd")


def schema() -> Any:
    """The columns and their types.

    Raises:
        MissingExtra: pyarrow isn't installed.
    """
    pa, _ = _pyarrow()
    text, count, share = pa.string(), pa.int64(), pa.float64()
    chat = pa.list_(pa.struct([("role", text), ("content", text)]))
    names = ("kind", "text", "conditions", "status", "reason", "problem")
    item = pa.struct([(name, text) for name in names])
    strategy = pa.struct(
        [("name", text), ("essence", text), ("tries", count), ("best_score", share)]
    )
    extra = [
        *(("index", count), ("split", text), ("problem", text), ("question", text)),
        *(("problem_prompt", chat), ("p0", share), ("p0_rollouts", count)),
        *(("experience", pa.list_(item)), ("strategies", pa.list_(strategy))),
        *(("rollouts", count), ("iteration", count)),
        *((name, text) for name in ("run", "method", "model", "thread")),
    ]
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", chat),
            ("reward_model", pa.struct([("style", text), ("ground_truth", text)])),
            ("extra_info", pa.struct(extra)),
            ("_source", text),
        ]
    )


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415  (an extra, and it takes a while)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(
            'pyarrow isn\'t installed, and parquet needs it. Run: pip install "tmas-graph[train]"'
        ) from error
    return pyarrow, pyarrow.parquet
