"""The process that compares: reads requests, writes verdicts, lives within its limits.

It is started by `workers`, with no tie to the user's `__main__`. Messages are JSON after a length
of four bytes. It ignores Ctrl-C, ends when its parent's pipe closes, and ends itself by an alarm
soon after a request's limit should the parent be gone.
"""

import json
import resource
import signal
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import IO

LENGTH = struct.Struct(">I")
_GRACE_SECONDS = 1.0


def main() -> None:
    """Serve requests from standard input until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    from tmas_graph.answers.decide import decide  # noqa: PLC0415

    decide(r"\sqrt{2}+x^{1/2}", r"\{1.5, \pi\}", directed=False)  # what loads late loads now
    _limit(megabytes)
    write(replies, {"ready": True})
    while (request := read(requests)) is not None:
        signal.setitimer(signal.ITIMER_REAL, float(str(request["limit"])) + _GRACE_SECONDS)
        try:
            verdict = decide(
                str(request["pred"]), str(request["gold"]), directed=bool(request["directed"])
            )
            reply: Mapping[str, object] = {
                "outcome": verdict.outcome,
                "cause": verdict.cause,
                "steps": verdict.steps,
            }
        except (MemoryError, RecursionError) as reason:
            reply = {"outcome": "error", "cause": f"limit: {type(reason).__name__}", "steps": ()}
        except Exception as reason:
            reply = {"outcome": "error", "cause": f"fault: {reason!r:.200}", "steps": ()}
        signal.setitimer(signal.ITIMER_REAL, 0)
        write(replies, reply)


def read(stream: IO[bytes]) -> dict[str, object] | None:
    """Read one message; None at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        return None
    message: dict[str, object] = json.loads(body)
    return message


def write(stream: IO[bytes], message: Mapping[str, object]) -> None:
    """Write one message."""
    body = json.dumps(message).encode()
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def _limit(megabytes: int) -> None:
    """Bound the memory; forbid writing to files and opening any."""
    limits = {
        resource.RLIMIT_AS: megabytes << 20,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 3,
    }
    for what, value in limits.items():
        with suppress(OSError, ValueError):  # some systems don't know a limit
            resource.setrlimit(what, (value, value))


if __name__ == "__main__":
    main()
