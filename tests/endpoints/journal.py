"""The record of a server in a file that outlives its process."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from endpoints.protocol import Request, ScriptedReply, messages_of


class Journal:
    """Requests in a file of JSON lines: as each is received, answered, and wholly sent.

    A line is with the kernel when `write` returns: it outlives a process killed by −9, not the
    machine. Keys are left out.
    """

    def __init__(self, path: Path) -> None:
        """Append to the file at `path`."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def received(self, request: Request) -> None:
        """Write down a request."""
        headers = {k: v for k, v in request.headers.items() if k != "authorization"}
        self._write(
            event="received",
            index=request.index,
            attempt=request.attempt,
            time_received=request.time_received,
            headers=headers,
            body=request.body,
            role=request.role,
        )

    def changed(self, index: int, changes: Mapping[str, Any]) -> None:
        """Write down what became of a request."""
        plain = dict(changes)
        if "replies" in plain:
            plain["replies"] = [vars(reply) for reply in plain["replies"]]
        self._write(event="changed", index=index, **plain)

    def close(self) -> None:
        """Bring all lines to the disk."""
        os.fsync(self._file)
        os.close(self._file)

    def _write(self, **record: Any) -> None:
        os.write(self._file, json.dumps(record).encode() + b"\n")


def read_log(path: Path) -> list[Request]:
    """The requests in a server's log, as its `requests` were, but for the keys.

    A line that is not ended yet is left out. Of a server that was started again with the same
    log, the requests follow those before; `index` and `attempt` begin anew.
    """
    requests: list[Request] = []
    begin = 0
    for line in path.read_text().split("\n")[:-1]:
        record = json.loads(line)
        if record.pop("event") == "received":
            begin = begin if record["index"] else len(requests)
            body = record["body"]
            record |= {"messages": messages_of(body)}
            record |= {"n": body.get("n") or 1, "seed": body.get("seed")}
            requests.append(Request(**record))
        else:
            if "replies" in record:
                record["replies"] = tuple(ScriptedReply(**reply) for reply in record["replies"])
            index = begin + record.pop("index")
            requests[index] = replace(requests[index], **record)
    return requests
