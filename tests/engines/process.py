"""A real vLLM on this machine's processor, and the log that it writes."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

MODEL = "smollm2-135m"
KEY = "a-key"
CONTEXT = 1024
"""Tokens of prompt and reply together."""
READY = "Application startup complete"
START_SECONDS = 400.0
STOP_SECONDS = 30.0
USUAL = (
    "--enforce-eager",
    "--dtype=float32",  # four times as fast as bfloat16 on a processor without it
    f"--max-model-len={CONTEXT}",
    f"--served-model-name={MODEL}",
    "--reasoning-parser=qwen3",
    "--enable-prompt-tokens-details",
    f"--api-key={KEY}",
    "--host=127.0.0.1",
)
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "TORCHDYNAMO_DISABLE": "1",  # else the first logprobs wait 18 s for a C++ compiler
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}


@dataclass
class VllmServer:
    """A vLLM in a process group of its own, inside `with`; entered once it serves."""

    home: Path
    """The virtual environment that `make test-vllm` builds, the model in it."""
    log: Path
    options: Sequence[str] = USUAL
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it needs beside ENVIRONMENT."""
    model: Path | None = None
    """What it serves; None: SmolLM2."""
    url: str = ""
    """The root; a client's base URL is `url` + "/v1"."""
    process: "subprocess.Popen[str] | None" = None
    _said: threading.Event = field(default_factory=threading.Event)
    _ready: bool = False
    _reader: threading.Thread | None = None

    def __enter__(self) -> Self:
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [str(self.home.absolute() / "bin" / "python"), "-m"]
        command += ["vllm.entrypoints.openai.api_server", *self.options, f"--port={port}"]
        self.process = subprocess.Popen(
            [*command, f"--model={self.model or self.home.absolute() / 'model'}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=self.log.parent,  # python -m looks for modules there first
            env={
                **os.environ,
                **ENVIRONMENT,
                "VLLM_CACHE_ROOT": str(self.log.parent / "cache"),
                **self.environment,
            },
            process_group=0,  # a session of its own would get more of the processor than the test
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._said.wait(START_SECONDS)
        if not self._ready:
            self.__exit__()
            raise RuntimeError(f"{self.home}: vLLM did not start. It said:\n{self.tail()}")
        return self

    def __exit__(self, *error: object) -> None:
        """Ask it to end, then kill what is left of its group."""
        if not self.process:
            return
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError):  # it left nothing behind
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self._reader:
            self._reader.join()

    def tail(self, lines: int = 60) -> str:
        """Return the end of its log."""
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def worker(self) -> int:
        """Return the id of the process that runs the model."""
        assert self.process is not None
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                title, group = (folder / "cmdline").read_text(), os.getpgid(int(folder.name))
            except OSError:
                continue  # it has ended meanwhile
            if group == self.process.pid and title.startswith("VLLM::Worker"):
                return int(folder.name)
        raise RuntimeError(f"{self.url}: no process of vLLM is named VLLM::Worker.")

    def _read(self) -> None:
        """Copy what it says into the log, until all of its processes have ended."""
        assert self.process is not None
        assert self.process.stdout is not None
        with self.process.stdout as said, self.log.open("w", buffering=1) as log:
            for line in said:
                log.write(line)
                if READY in line:
                    self._ready = True
                    self._said.set()
        self._said.set()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
