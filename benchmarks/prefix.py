"""How much of the prompts a real vLLM takes from its prefix cache, and the time of an iteration.

    python -m benchmarks.prefix .venv-vllm [--candidates 4] [--verifications 8] [--iterations 2]

The argument is the environment that `make test-vllm` builds. The requests of one problem are
recorded with made-up replies of realistic proportions (shorter ones serve as well: only those
matter); then they are put to vLLM, which makes a few tokens for each: as they are (what is shared
first, several replies of one request), and in two other orders (the task before the material; and
an agent's number before that), with a request for each reply. The roles go one after the other, so
that vLLM's counts tell them apart; of a request for n replies it counts the prompt n times.
"Prefilled" are tokens that it had to compute.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.table import Table

from benchmarks.prefix_requests import ORDERS, ROLES, Request, recorded, shared, stages
from benchmarks.quick.process import quick_server
from benchmarks.results import ROOT, add_json, written
from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.models import pool
from tmas_graph.models.making import Ask
from tmas_graph.prompts import Prompt

GOAL = 0.7
"""Of the prompts' tokens of verification and summary."""
_GOAL_ROLES = ("verification", "summary")
_COUNTS = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total")
OPTIONS = ("--max-model-len=8192", "--enable-prefix-caching", "--block-size=32")
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "2"}


@dataclass(slots=True)
class Part:
    """What the prompts of a role took in one order."""

    requests: int = 0
    tokens: float = 0
    """Of prompts, as often as replies were made of them."""
    cached: float = 0
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """Of the tokens, what came from the cache."""
        return self.cached / self.tokens if self.tokens else 0.0


async def measured(
    url: str, key: str, order: str, requests: Sequence[Request], salt: str
) -> dict[str, Part]:
    """Put `requests` to the vLLM at `url`; by role, what they took."""
    body = {"cache_salt": salt, "chat_template_kwargs": {"enable_thinking": False}}
    endpoint = Endpoint(base_url=f"{url}/v1", api_key=key, max_tokens=4, extra_body=body)  # type: ignore[arg-type]
    client, parts = await pool.connect(endpoint), {role: Part() for role in ROLES}
    async with httpx2.AsyncClient(base_url=url, timeout=60) as http:

        async def counts() -> list[float]:
            text = (await http.get("/metrics")).text
            return [_count(text, name) for name in _COUNTS]

        for stage in stages(ORDERS[order](requests)):
            before, since, part = await counts(), time.perf_counter(), parts[stage[0].role]
            asked = (client.ask(Prompt(list(one.messages)), Ask(one.n)) for one in stage)
            await asyncio.gather(*asked)
            part.seconds += time.perf_counter() - since
            after = await counts()
            part.requests += len(stage)
            part.tokens += after[0] - before[0]
            part.cached += after[1] - before[1]
    await pool.close()
    return parts


def _count(text: str, name: str) -> float:
    lines = (line for line in text.splitlines() if line.startswith(f"{name}{{"))
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


async def compared(url: str, key: str, given: argparse.Namespace) -> dict[str, Any]:
    """All orders, in turns; for each its parts, and the least time of an iteration."""
    size = {n: getattr(given, n) for n in ("candidates", "verifications", "iterations")}
    names = ("solution", "verification", "summary")
    lengths = {name: getattr(given, f"{name}_chars") for name in names}
    with tempfile.TemporaryDirectory() as place, quick_server(**lengths) as quick:
        requests = await recorded(quick, Path(place) / "calls.jsonl", **size)
        await pool.close()
    await measured(url, key, "ours", requests[:2], "warm up")
    found: dict[str, Any] = {}
    for turn in range(given.rounds):
        for order in ORDERS:
            parts = await measured(url, key, order, requests, f"{order} {turn}")
            seconds = sum(part.seconds for part in parts.values()) / given.iterations
            one = found.setdefault(order, {"parts": parts, "seconds": []})
            one["seconds"].append(seconds)
    for order, one in found.items():
        one["possible"] = shared(ORDERS[order](requests))
    return found


def both(parts: dict[str, Part]) -> float:
    """The share that the goal is about."""
    chosen = [parts[role] for role in _GOAL_ROLES]
    return sum(part.cached for part in chosen) / sum(part.tokens for part in chosen)


def tables(found: dict[str, Any]) -> list[Table]:
    """The shares by role and order, and the sums."""
    shares = Table("cached, of all prompt tokens", *found)
    for role in ROLES:
        cells = [
            f"{one['parts'][role].share:.0%} (of {one['possible'].get(role, 0):.0%})"
            for one in found.values()
        ]
        shares.add_row(role, *cells)
    shares.add_row("verification and summary", *(f"{both(x['parts']):.0%}" for x in found.values()))
    sums = Table("order", "requests", "prompt tokens", "prefilled", "seconds an iteration")
    for order, one in found.items():
        parts = one["parts"].values()
        tokens, cached = (sum(getattr(p, name) for p in parts) for name in ("tokens", "cached"))
        spread = f"{min(one['seconds']):.1f}–{max(one['seconds']):.1f}"
        count = sum(part.requests for part in parts)
        sums.add_row(order, str(count), f"{tokens:,.0f}", f"{tokens - cached:,.0f}", spread)
    return [shares, sums]


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("engine", type=Path, help="virtual environment with vLLM and the model")
    for name, default in {"candidates": 4, "verifications": 8, "iterations": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in {"solution": 1500, "verification": 500, "summary": 200}.items():
        parser.add_argument(f"--{name}-chars", type=int, default=default, help="of a reply, about")
    parser.add_argument("--rounds", type=int, default=2)
    add_json(parser)
    return parser.parse_args(arguments)


def main() -> None:
    """Measure and print."""
    given = options()
    sys.path.append(str(ROOT / "tests"))
    from engines.process import KEY, USUAL, VllmServer  # noqa: PLC0415  (found only now)

    with (
        tempfile.TemporaryDirectory() as place,
        VllmServer(given.engine, Path(place) / "log", (*USUAL, *OPTIONS), ENVIRONMENT) as server,
    ):
        found = asyncio.run(compared(server.url, KEY, given))
    console = Console(width=110)
    for table in tables(found):
        console.print(table)
    share = both(found["ours"]["parts"])
    verdict = "met" if share >= GOAL else "MISSED"
    console.print(f"{verdict}: {share:.0%} of verification and summary, {GOAL:.0%} wanted")
    plain = {o: {**x, "parts": {r: asdict(p) for r, p in x["parts"].items()}} for o, x in
             found.items()}  # fmt: skip
    written(given.json, "prefix", given, plain)


if __name__ == "__main__":
    main()
