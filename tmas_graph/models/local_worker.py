"""The process that holds a local llama.cpp server; `local` starts it, by this file's path.

It stands apart because xllamacpp keeps Python's global lock for as long as a model loads, which
would stop an event loop, and because llama.cpp answers some faulty files by aborting the process.
It reads its parameters (JSON) from the command line, writes one line of JSON to its standard output
once it serves, and lives until its standard input ends, so it never outlives the process that
started it. It imports nothing of this package.
"""

import json
import os
import signal
import sys
import urllib.request
from typing import Any

ERRORS_ONLY = 1
"""llama.cpp's verbosity: 0 replies, 1 errors, 2 warnings, 3 all that it does."""


def main() -> None:
    """Serve until the standard input ends."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # while it loads, Ctrl-C ends it at once
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever llama.cpp prints goes to the log

    server = _serve(given)
    url: str = server.listening_address
    answer.write(json.dumps({"url": url, "context": _context(url)}) + "\n")
    answer.close()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # calls in flight end with the one who made them
    sys.stdin.buffer.read()


def _serve(given: dict[str, Any]) -> Any:
    """Load the model; returns once it serves, keeping the global lock until then."""
    import xllamacpp  # noqa: PLC0415  after the output is redirected: it may print

    params = xllamacpp.CommonParams()
    params.model.path = given["path"]
    params.model_alias = {given["name"]}
    params.n_parallel = given["slots"]
    params.n_ctx = given["slots"] * given["context"]
    params.cpuparams.n_threads = given["threads"]
    params.cache_ram_mib = given["cache_mib"]
    params.port = 0  # the system chooses
    params.cors_origins = "http://127.0.0.1"  # else any web page may read replies
    params.endpoint_slots = False  # it shows prompts
    params.ui = False
    params.verbosity = ERRORS_ONLY
    return xllamacpp.Server(params)


def _context(url: str) -> int:
    """Ask the server how many tokens a slot holds: it rounds up, and caps at the model's own."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"{url}/props") as response:
        return int(json.load(response)["default_generation_settings"]["n_ctx"])


if __name__ == "__main__":
    main()
