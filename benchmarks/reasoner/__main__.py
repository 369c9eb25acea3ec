"""Serve the synthetic reasoner: `python -m benchmarks.reasoner --port 8000`.

Its address goes to standard output, then it serves until it is interrupted. `--problems` writes
problems with their answers into a file that `tmas run` reads, and ends.
"""

import argparse
import asyncio
import json
import signal
from pathlib import Path

from aiohttp import web

from benchmarks.reasoner.direct import Reasoner
from benchmarks.reasoner.lengths import Lengths
from benchmarks.reasoner.line import Pace
from benchmarks.reasoner.play import Player
from benchmarks.reasoner.server import Server
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.trouble import Trouble
from benchmarks.reasoner.world import Nature, question, world


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reasoner", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument(
        "--noise", type=float, default=0.0, help="of checks; 1: no better than a coin"
    )
    parser.add_argument(
        "--words", type=int, default=0, help="median of solutions and checks; 0: few"
    )
    parser.add_argument("--mean", type=float, default=0.0, help="seconds of a request; 0: at once")
    parser.add_argument("--spread", type=float, default=Pace().spread, help="of their logarithm")
    parser.add_argument("--capacity", type=int, default=0, help="requests at a time; 0: all")
    parser.add_argument(
        "--errors", type=float, default=0.0, help="share of requests that get a 5xx"
    )
    parser.add_argument("--hangs", type=float, default=0.0, help="share that is never answered")
    parser.add_argument(
        "--cuts", type=float, default=0.0, help="share of replies without their end"
    )
    parser.add_argument("--seed", type=int, default=0, help="of errors, hangs and cuts")
    parser.add_argument("--problems", type=int, default=0, help="write so many into --to, and end")
    parser.add_argument("--to", type=Path, default=Path("problems.jsonl"))
    return parser.parse_args()


def made(options: argparse.Namespace) -> Server:
    """The server that the command line asks for."""
    skill = Skill().with_noise(options.noise)
    return Server(
        Reasoner(Player(skill), Lengths(words=options.words)),
        Pace(mean=options.mean, spread=options.spread, capacity=options.capacity),
        Trouble(errors=options.errors, hangs=options.hangs, cuts=options.cuts, seed=options.seed),
    )


async def serve(server: Server, port: int) -> None:
    """Serve on the local machine until a signal."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    # A client that goes must free its place: that isn't aiohttp's default.
    runner = web.AppRunner(
        server.app(), access_log=None, shutdown_timeout=0.1, handler_cancellation=True
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await stop.wait()
    await runner.cleanup()


def write_problems(count: int, file: Path) -> None:
    """Write the first `count` problems, one a line, as `tmas run` reads them."""
    rows = []
    for number in range(count):
        code, text = question(number)
        answer = str(world(code, Nature()).answer)
        rows.append({"problem_id": f"p{number}", "question": text, "answer": answer})
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def main() -> None:
    """Do as the command line says."""
    options = _options()
    if options.problems:
        write_problems(options.problems, options.to)
    else:
        asyncio.run(serve(made(options), options.port))


if __name__ == "__main__":
    main()
