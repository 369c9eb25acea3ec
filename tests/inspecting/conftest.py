"""Evals of inspect's in this process: on a scripted model of inspect's, or a scripted server."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from endpoints.reasoner import role_of
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)

from tmas_graph.inspecting.scorers import candidates, grader

QUESTION = "What is 6 times 7?"
SMALL = {"candidates": 2, "verifications": 2, "iterations": 2, "early_stop": False}


def says(role: str) -> str:
    """What the scripted model says in each role; all is right, and found so."""
    if role in ("verification", "audit"):
        return r"All holds. \boxed{1}"
    if role == "experience":
        return "- [technique] Multiply the numbers."
    if role == "guideline":
        return "- Multiplication: multiply (attempt 1): it worked"
    return r"It is 42. \boxed{42}"


@dataclass
class Scripted:
    """A model of inspect's that plays the agents, and keeps what it was asked."""

    say: Callable[[str], str] = says
    configs: list[GenerateConfig] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    fail: Callable[[str, int], str] = lambda role, count: ""
    """Why a request in a role, the first of which has the number 0, fails; empty if it doesn't."""

    def model(self, name: str = "scripted") -> Model:
        """The model; a usage is set, or inspect would fetch a tokenizer."""
        return get_model(f"mockllm/{name}", memoize=False, custom_outputs=self._output)

    def _output(
        self, messages: list[ChatMessage], tools: object, choice: object, config: GenerateConfig
    ) -> ModelOutput:
        role = role_of([{"role": m.role, "content": m.text} for m in messages])
        count = self.roles.count(role)
        self.configs.append(config)
        self.roles.append(role)
        if reason := self.fail(role, count):
            raise RuntimeError(reason)
        output = ModelOutput.from_content("mockllm/scripted", self.say(role))
        output.usage = ModelUsage(
            input_tokens=7, input_tokens_cache_read=3, output_tokens=5, total_tokens=15
        )
        return output


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with nothing set in the environment."""
    for name in [name for name in os.environ if name.startswith(("TMAS_", "INSPECT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(model: Model | str, solver: Any, *, target: str = "42", **given: Any) -> EvalLog:
    """The log of an eval of one problem."""
    sample = Sample(input=QUESTION, target=target, id="p1", metadata={"problem": "p1"})
    task = Task(dataset=MemoryDataset([sample]), scorer=[grader(), candidates()], name="t")
    [log] = eval(task, model=model, solver=solver, display="none", log_dir="logs", **given)
    return log
