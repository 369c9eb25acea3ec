"""What trains at a real vLLM: `tmas train run` in a process of its own, and its server."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines.process import VllmServer
from tmas_graph.grpo import metrics
from tmas_graph.grpo.dumping import file_of
from tmas_graph.grpo.serving import Serving, command_of
from tmas_graph.grpo.settings_file import dump, resolved

NAME = "policy"
"""What the server calls the model below all adapters."""
RANK = 8
EXACT = {"autocast": "none", "gradient_checkpointing": False}
_ENVIRONMENT = {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1"}


def vllm(home: Path, model: Path, folder: Path, context: int = 128) -> VllmServer:
    """A vLLM started as `tmas train serve` says, but for what a processor needs."""
    command = command_of(Serving(str(model), "lora", max_model_len=context, lora_rank=RANK))
    options = [word for word in command.arguments[1:] if not word.startswith("--port")]
    return VllmServer(
        home,
        folder / "vllm.log",
        model=model,
        options=(*options, "--enforce-eager", "--dtype=float32", f"--served-model-name={NAME}"),
        environment=command.environment,
    )


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """A run that is told by `run.toml` in `folder`."""

    folder: Path
    threads: int = 1
    """Of torch: tiny tensors are slower with more."""

    @classmethod
    def written(cls, folder: Path, values: dict[str, Any], threads: int = 1) -> "TrainingRun":
        """Write the settings of a run in float32."""
        folder.mkdir()
        model = {**EXACT, **values["model"]}
        given = {**values, "model": model, "out": str(folder / "run")}
        (folder / "run.toml").write_text(dump(resolved(json.loads(json.dumps(given)), "test")))
        return cls(folder, threads)

    @property
    def out(self) -> Path:
        """Where the run leaves all that it has to tell."""
        return self.folder / "run"

    def finish(self, *options: str) -> str:
        """Let it run to its end; give what it said."""
        running = self._begun(*options)
        said, _ = running.communicate()
        assert running.returncode == 0, said
        return said

    def killed_after(self, step: int) -> None:
        """Let it run, and `kill -9` it as soon as it says that `step` is done."""
        running = self._begun()
        assert running.stdout is not None
        said = ""
        for line in running.stdout:
            said += line
            if line.startswith(f"step {step}: "):
                break
        running.kill()
        running.communicate()
        assert running.returncode == -signal.SIGKILL, said

    def records(self, kind: str) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl of one kind."""
        return [one for one in metrics.read(self.out) if one["kind"] == kind]

    def samples(self, step: int) -> list[dict[str, Any]]:
        """What was drawn for `step`."""
        return [json.loads(line) for line in file_of(self.out, step).read_text().splitlines()]

    def _begun(self, *options: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tmas_graph", "train", "run", "run.toml", *options],
            cwd=self.folder,
            env={**os.environ, **_ENVIRONMENT, "OMP_NUM_THREADS": str(self.threads)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
