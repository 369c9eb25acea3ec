"""Runs all benchmarks and writes docs/benchmarks.md: tables, plots, the machine and the commit.

    python -m benchmarks.report [NAME …]

With names, only those are run, and the others keep what an earlier run showed. A benchmark that
fails is shown with its last lines, and ends the command with 1 when all others are done. The one
that needs a vLLM is left out where there is none: `make test-vllm` builds it; or name the
environment of another as TEST_ENGINE.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from benchmarks import results
from benchmarks.results import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
KEPT = ROOT / "docs" / "benchmarks.json"
IMAGES = ROOT / "docs" / "images"
_USUAL_ENGINE = ".venv-vllm"
ENGINE = os.environ.get("TEST_ENGINE", _USUAL_ENGINE)
_VERSIONS = ("langgraph", "langchain-core", "openai", "chromadb", "numpy")
_WIDTH = "100"
_LAST_LINES = 15


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One of them."""

    name: str
    title: str
    shows: str
    """What its figures say, in Markdown."""
    options: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    """Files in `IMAGES` that it makes."""
    engine: bool = False
    """Whether it needs a vLLM."""

    def command(self, engine: str) -> tuple[str, ...]:
        """Its arguments to Python, with the vLLM in the environment `engine`."""
        place = (engine,) if self.engine else ()
        return ("-m", f"benchmarks.{self.name}", *place, *self.options)


BENCHMARKS = (
    Benchmark(
        "makespan",
        "Makespan",
        "How long a run takes over the least that any schedule needs, beside a harness that works "
        "stage by stage.",
    ),
    Benchmark(
        "harness",
        "Harness",
        "Calls per second, processor time per call and memory of `tmas run` with 800 calls in "
        "flight. Memory grows with what is in flight, not with what is finished.",
    ),
    Benchmark(
        "overhead",
        "Overhead",
        "What durability costs beside plain asyncio over the same client: processor time of a call "
        "and of a reply (each reply a call of its own, and 8 checks together as is usual), memory "
        "of a problem, bytes in the database. With 1 000 problems in flight: [log](LOG.md).",
        ("--in-flight", "100"),
    ),
    Benchmark(
        "soak",
        "Soak",
        "A run of many problems on a server that fails, killed with −9 again and again: each "
        "problem ends once, and the books agree with the server's. The whole has 2 000 problems "
        "and stands in the [log](LOG.md).",
        ("--problems", "150", "--kill-every", "20"),
    ),
    Benchmark(
        "prefix",
        "Prefill",
        "The share of prompt tokens that a real vLLM takes from its prefix cache, for our order of "
        "the prompts' parts and requests for several replies, beside naive orders.",
        (
            "--candidates=2",
            "--solution-chars=800",
            "--verification-chars=270",
            "--summary-chars=115",
            "--rounds=1",
        ),
        engine=True,
    ),
    Benchmark(
        "memory",
        "Memory",
        "Many problems that write to one experience bank at once, and retrieval from it. The pause "
        "is the longest time for which the event loop stood still.",
    ),
    Benchmark("retrieval", "Retrieval", "What choosing the items of one prompt takes."),
    Benchmark("dedup", "Dedup", "Labelled pairs: rewordings that are found, and wrong merges."),
    Benchmark("library", "Library", "The library with items of many problems."),
    Benchmark(
        "client",
        "Client",
        "Requests per second and processor time per call of our client and others.",
        ("--calls", "1000", "--rounds", "1"),
    ),
    Benchmark("grading", "Grading", "Answers graded per second, beside math-verify."),
    Benchmark(
        "scaling",
        "Scaling",
        "Accuracy by iteration and by token on the synthetic reasoner: TMAS whole and without its "
        "parts, rivals, along ε, with worse checks. It says whether information flows, not how "
        "good a real model gets. The whole, 200 problems with 3 seeds, all rivals and grids, "
        "stands in [decision 020](decisions/020-what-the-reasoner-showed.md).",
        ("--problems", "36", "--to", "scaling/page", "--fresh", "--images", "docs/images"),
        ("scaling-ablations.png", "scaling-rivals.png", "scaling-grids.png"),
    ),
    Benchmark(
        "hybrid",
        "Hybrid reward",
        "A toy task trained with the hybrid reward and with correctness alone, from the same "
        "policies: who uses the bank, and who leaves the listed strategies.",
        ("--plot", "docs/images/hybrid.png"),
        ("hybrid.png",),
    ),
    Benchmark(
        "trainer",
        "Trainer",
        "Tokens per second and memory of a GRPO step on a vocabulary of 49 152, beside TRL's. On a "
        "processor TRL works without its Triton kernel and scores prompts and padding, too; on a "
        "GPU, where it doesn't, the ratios would be others.",
        ("--rounds", "1", "--steps", "1"),
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a benchmark printed."""

    text: str
    seconds: float
    failed: bool
    day: str
    commit: str
    machine: str


def outcome_of(benchmark: Benchmark) -> Outcome:
    """Run it."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *benchmark.command(ENGINE)],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": _WIDTH, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout
    if done.returncode:
        text = "\n".join((done.stdout + done.stderr).splitlines()[-_LAST_LINES:])
    seconds = time.perf_counter() - began
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    return Outcome(
        text.strip("\n"), seconds, bool(done.returncode), day, results.commit(), machine()
    )


def machine() -> str:
    """Processor, cores, memory, system, and the packages that matter."""
    it = results.machine()
    parts = [
        it["processor"],
        f"{it['cores']} cores",
        f"{it['memory_gb']:.0f} GiB",
        f"{it['system']}, Python {it['python']}",
        *(f"{name} {version(name)}" for name in _VERSIONS),
    ]
    return ", ".join(parts)


def page(outcomes: dict[str, Outcome]) -> str:
    """The page, in Markdown."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Compare ratios, not seconds: both sides of each were measured in "
        "one run, on the machine that stands below it.",
    ]
    for benchmark in BENCHMARKS:
        if (one := outcomes.get(benchmark.name)) is None:
            continue
        lines += ["", f"## {benchmark.title}", "", benchmark.shows, ""]
        command = " ".join(benchmark.command(_USUAL_ENGINE))
        lines += ["```", f"$ python {command}", one.text, "```"]
        lines += [f"\n![{benchmark.title}](images/{image})" for image in benchmark.images]
        failed = "**It failed.** " if one.failed else ""
        lines += [
            "",
            f"{failed}{one.day}, commit {one.commit}, {one.seconds:.0f} s, on {one.machine}.",
        ]
    return "\n".join(lines) + "\n"


def kept() -> dict[str, Outcome]:
    """What earlier runs showed."""
    if not KEPT.exists():
        return {}
    return {name: Outcome(**fields) for name, fields in json.loads(KEPT.read_text()).items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them and write the page; 1 if any failed."""
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    names = parser.parse_args(arguments).names or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
    if not (ROOT / ENGINE).is_dir():
        for name in (name for name in names if known[name].engine):
            print(f"{name}: left out, there is no {ENGINE}. `make test-vllm` builds it.")
        names = [name for name in names if not known[name].engine]
    outcomes = kept()
    for name in names:
        print(f"{name} …", flush=True)
        outcomes[name] = outcome_of(known[name])
        KEPT.write_text(json.dumps({n: asdict(o) for n, o in outcomes.items()}, indent=1) + "\n")
        PAGE.write_text(page(outcomes))
        print(f"{outcomes[name].text}\n{name}: {outcomes[name].seconds:.0f} s", flush=True)
    return int(any(outcomes[name].failed for name in names))


if __name__ == "__main__":
    sys.exit(main())
