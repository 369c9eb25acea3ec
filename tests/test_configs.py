"""The reference settings are valid, and say what the paper and the makers of the models say."""

import re
import tomllib
from pathlib import Path

import pytest

from tmas_graph.configuration import load
from tmas_graph.grpo import settings_file

CONFIGS = Path(__file__).parents[1] / "configs"
FILES = sorted(path.name for path in CONFIGS.glob("*.toml") if path.name[:6] != "train-")
TRAINING = sorted(path.name for path in CONFIGS.glob("train-*.toml"))


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_valid_on_its_own(name: str) -> None:
    given = tomllib.loads((CONFIGS / name).read_text(encoding="utf-8"))
    loaded = load(CONFIGS / name, environ={})
    assert loaded.preset == given["preset"]
    own = {key for key, origin in loaded.origins.items() if origin.endswith(name)}
    assert {key.partition(".")[0] for key in own} == set(given) - {"preset"}


@pytest.mark.parametrize("model", ["Qwen3-30B-A3B-Thinking-2507", "Qwen3-4B-Thinking-2507"])
def test_the_papers_settings_are_those_of_its_table(model: str) -> None:
    name = f"paper-{model.lower().replace('-a3b', '').removesuffix('-thinking-2507')}.toml"
    settings = load(CONFIGS / name, environ={}).settings
    assert settings.model == f"Qwen/{model}"
    shape = (settings.candidates, settings.verifications, settings.iterations, settings.epsilon)
    assert shape == (8, 8, 20, 0.2)
    assert not settings.early_stop
    assert (settings.context_tokens, settings.concurrency) == (130_000, 800)
    assert (settings.temperature, settings.top_p) == (0.6, 0.95)
    assert settings.extra_body == {"top_k": 20, "min_p": 0}
    assert f"vllm serve Qwen/{model} " in (CONFIGS / name).read_text(encoding="utf-8")


def test_the_hosted_apis_budget_of_money_has_a_price() -> None:
    settings = load(CONFIGS / "hosted-api.toml", environ={}).settings
    assert settings.max_cost
    assert "*" in settings.prices
    assert settings.requests_per_minute
    assert settings.tokens_per_minute


def test_prompts_and_replies_of_a_laptop_fit_its_context() -> None:
    s = load(CONFIGS / "laptop.toml", environ={}).settings
    assert s.context_tokens is not None
    assert s.max_tokens is not None
    shown = s.rollouts_tokens + s.experience_tokens + s.guideline_tokens
    assert shown + s.max_tokens < s.context_tokens


@pytest.mark.parametrize("name", TRAINING)
def test_a_training_run_says_how_its_model_is_served(name: str) -> None:
    settings = settings_file.load(CONFIGS / name)
    assert (settings.preset, settings.mode) == ("hybrid", "grpo")
    command = f"tmas train serve {settings.model.model} --push {settings.server.push}"
    text = (CONFIGS / name).read_text(encoding="utf-8")
    assert command in text
    if settings.model.lora:
        assert f"--lora-rank {settings.model.lora.rank}" in text
    given = tomllib.loads(text)
    assert settings_file.resolved(given, name) == settings


def test_the_page_says_which_is_which() -> None:
    page = (CONFIGS / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `([\w.-]+)` \| ", page, re.MULTILINE)) == FILES + TRAINING
