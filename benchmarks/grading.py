"""Grade the shared cases with our grader and with math-verify, side by side.

    python benchmarks/grading.py [path/to/cases.jsonl]

Without a path: the cases in the folder that TMAS_DATA names, else those of our own tests.
math-verify (in the extra `bench`) is asked in two ways: gold between dollar signs and prediction in
a box, as its authors advise, and with both texts as they are. Only cases without a policy choice
count; a case is right if it is accepted just when it is true. Hostile cases are left out of the
times, and math-verify isn't asked them: it can run for ever outside its own limits.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from tmas_graph.answers.equivalence import forget, grade

Grader = Callable[[str, str], bool | None]


@dataclass(frozen=True, slots=True)
class Line:
    """What one grader did."""

    name: str
    accepted: tuple[bool | None, ...]
    milliseconds: tuple[float, ...]


def ours(pred: str, gold: str) -> bool | None:
    """Ask our grader; None where it is unsure or met a limit."""
    return {"correct": True, "incorrect": False}.get(grade(pred, gold).outcome)


def boxed(pred: str, gold: str) -> bool | None:
    """Ask math-verify in the way its authors advise."""
    inside = pred if "boxed" in pred or "$" in pred else rf"\boxed{{{pred}}}"
    return _math_verify(inside, gold if "$" in gold else f"${gold}$")


def raw(pred: str, gold: str) -> bool | None:
    """Ask math-verify with the texts as they are."""
    return _math_verify(pred, gold)


def _math_verify(pred: str, gold: str) -> bool | None:
    from math_verify import parse, verify  # noqa: PLC0415

    try:
        return bool(verify(parse(gold), parse(pred)))
    except Exception:
        return None


def measure(name: str, grader: Grader, cases: Sequence[dict[str, Any]]) -> Line:
    """Ask a grader every case, one after another."""
    accepted, milliseconds = list[bool | None](), list[float]()
    for case in cases:
        start = time.perf_counter()
        accepted.append(grader(case["pred"], case["gold"]))
        milliseconds.append((time.perf_counter() - start) * 1000)
    return Line(name, tuple(accepted), tuple(milliseconds))


def row(line: Line, cases: Sequence[dict[str, Any]]) -> list[str]:
    """Count a grader's errors."""
    pairs = [
        (bool(said), case["expected"]) for said, case in zip(line.accepted, cases, strict=True)
    ]
    right = sum(said == true for said, true in pairs)
    return [
        line.name,
        str(len(cases)),
        f"{100 * right / len(cases):.1f} %",
        str(sum(said and not true for said, true in pairs)),
        str(sum(true and not said for said, true in pairs)),
        str(sum(said is None for said in line.accepted)),
        f"{median(line.milliseconds):.2f}",
        f"{max(line.milliseconds):.0f}",
    ]


def given_cases(arguments: Sequence[str]) -> Path:
    """Find the file of cases."""
    if arguments:
        return Path(arguments[0])
    if folder := os.environ.get("TMAS_DATA"):
        return Path(folder, "grading", "cases.jsonl")
    return Path(__file__).parents[1] / "tests" / "cases" / "grading.jsonl"


def main(path: Path) -> None:
    """Print the table."""
    logging.disable(logging.ERROR)
    cases = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    plain = [c for c in cases if not c.get("policy") and isinstance(c.get("expected"), bool)]
    ordinary = [case for case in plain if not case.get("hostile")]
    grade("x", "y")  # starts the worker
    forget()
    table = Table("grader", "cases", "right", "false correct", "false incorrect", "undecided",
                  "median ms", "longest ms")  # fmt: skip
    table.add_row(*row(measure("tmas, all", ours, plain), plain))
    forget()
    table.add_row(*row(measure("tmas, fresh", ours, ordinary), ordinary))
    cached = measure("tmas, cached", ours, ordinary)
    table.add_row(*row(cached, ordinary))
    for name, grader in (("math-verify, boxed", boxed), ("math-verify, raw", raw)):
        table.add_row(*row(measure(name, grader, ordinary), ordinary))
    console = Console(width=110)
    console.print(table)
    console.print(f"cached: median {1000 * median(cached.milliseconds):.0f} µs a pair")


if __name__ == "__main__":
    main(given_cases(sys.argv[1:]))
