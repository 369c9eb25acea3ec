"""Prompts in their order: what they share comes first, and a real vLLM is spared it."""

import os
from pathlib import Path

import pytest
from engines.process import KEY, USUAL, VllmServer
from transformers import AutoConfig, AutoTokenizer, LlamaForCausalLM

from benchmarks.prefix import ENVIRONMENT, OPTIONS, both, compared, options, tables
from benchmarks.prefix_requests import ORDERS, recorded, shared
from benchmarks.quick.process import quick_server
from benchmarks.results import ROOT

pytestmark = pytest.mark.anyio
SMALL = ["--candidates=2", "--verifications=4", "--rounds=1", "--solution-chars=600"]


@pytest.mark.usefixtures("pooled")
async def test_what_prompts_share_comes_first(tmp_path: Path) -> None:
    with quick_server(solution=1500, verification=400, summary=200) as url:
        size = {"candidates": 4, "verifications": 4, "iterations": 2}
        requests = await recorded(url, tmp_path / "calls.jsonl", **size)
    parts = {name: shared(order(requests)) for name, order in ORDERS.items()}
    assert parts["ours"]["verification"] > 0.7
    for role in ("solution", "verification", "summary", "guideline"):
        assert parts["ours"][role] >= parts["task first, single"][role] - 0.05
        assert parts["ours"][role] > parts["numbered, single"][role]
    # Who exploits is shown what the agents of the banks were shown just before.
    assert parts["ours"]["solution"] > 0.75
    # The solution, and for the guidelines all attempts, were in other prompts before.
    assert parts["ours"]["summary"] > 2 * parts["task first, single"]["summary"]
    assert parts["ours"]["guideline"] > 2 * parts["task first, single"]["guideline"]


def shrunk(model: Path, folder: Path) -> Path:
    """A model with the tokens of `model` and random weights, which answers in no time."""
    config = AutoConfig.from_pretrained(model)
    config.update({"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1})
    config.update({"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32})
    config.update({"layer_types": None})
    LlamaForCausalLM(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(model).save_pretrained(folder)
    return folder


@pytest.mark.vllm
@pytest.mark.timeout(900)  # the engine's start has 400
async def test_vllm_is_spared_more_in_our_order(tmp_path: Path) -> None:
    home = Path(os.environ.get("TEST_ENGINE", ".venv-vllm"))
    given = options([str(ROOT / home), *SMALL])
    model = shrunk(given.engine / "model", tmp_path / "model")
    usual = (*USUAL, *OPTIONS)
    with VllmServer(given.engine, tmp_path / "log", usual, ENVIRONMENT, model) as server:
        found = await compared(server.url, KEY, given)
    parts = {order: one["parts"] for order, one in found.items()}
    computed = {
        order: sum(part.tokens - part.cached for part in one.values())
        for order, one in parts.items()
    }
    assert parts["ours"]["verification"].share > 0.6
    assert both(parts["ours"]) > both(parts["numbered, single"])
    assert computed["ours"] < computed["task first, single"] < computed["numbered, single"]
    assert [table.row_count for table in tables(found)] == [6, 3]
