import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_models import gradients, largest_gap, samples, tiny_qwen

from tmas_graph.errors import StorageError
from tmas_graph.grpo.loading import LoraSettings, ModelSettings, is_tied, load, prepare, untie
from tmas_graph.grpo.packing import pack
from tmas_graph.grpo.policy import Policy

ROWS = samples(4)
PLAIN = ModelSettings(model="none", lora=None, autocast="none", gradient_checkpointing=False)
WITH_HEAD = LoraSettings(rank=3, targets=("q_proj", "lm_head"))


def adapted(lora: LoraSettings = WITH_HEAD) -> Policy:
    """A policy with an adapter that isn't zero."""
    policy = prepare(tiny_qwen().double(), PLAIN.model_copy(update={"lora": lora}))
    torch.manual_seed(5)
    for name, parameter in policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return policy


def test_an_adapter_on_the_head_gives_the_logits_of_peft() -> None:
    found = []
    for obvious in (False, True):
        policy = adapted()
        if obvious:
            ids = torch.tensor([[*ROWS[0].prompt_ids, *ROWS[0].completion_ids]])
            logits = policy.model(ids).logits[0, len(ROWS[0].prompt_ids) - 1 : -1]
            chosen = torch.tensor(ROWS[0].completion_ids)[:, None]
            logprobs = logits.log_softmax(-1).gather(-1, chosen)[:, 0]
        else:
            logprobs = policy(pack(ROWS[:1])).logprobs_N
        logprobs.sum().backward()
        found.append((logprobs, gradients(policy)))
    torch.testing.assert_close(found[0][0], found[1][0], atol=1e-12, rtol=0)
    assert largest_gap(found[0][1], found[1][1]) < 1e-12
    assert all("lora_" in name for name in found[0][1])
    assert all(gradient.abs().max() > 0 for gradient in found[0][1].values())


def test_the_reference_is_the_model_without_its_adapter() -> None:
    policy, before = adapted(), Policy(tiny_qwen().double())
    batch = pack(ROWS)
    with policy.reference():
        reference_N = policy(batch).logprobs_N
    assert not reference_N.requires_grad
    torch.testing.assert_close(reference_N, before(batch).logprobs_N.detach(), atol=1e-12, rtol=0)
    assert (policy(batch).logprobs_N - reference_N).abs().max() > 0.01


@pytest.mark.parametrize("lora", [None, WITH_HEAD])
def test_checkpointing_of_activations_changes_no_gradient(lora: LoraSettings | None) -> None:
    found = []
    for checkpointing in (False, True):
        update = {"lora": lora, "gradient_checkpointing": checkpointing}
        policy = prepare(tiny_qwen().double(), PLAIN.model_copy(update=update))
        policy(pack(ROWS)).logprobs_N.sum().backward()
        found.append(gradients(policy))
        assert policy.base.model.layers[0].gradient_checkpointing is checkpointing
    assert largest_gap(*found) < 1e-12


def test_products_are_bfloat16_and_what_is_trained_float32() -> None:
    exact = Policy(tiny_qwen())(pack(ROWS)).logprobs_N
    policy = prepare(tiny_qwen(), PLAIN.model_copy(update={"autocast": "bfloat16"}))
    rough = policy(pack(ROWS)).logprobs_N
    rough.sum().backward()
    assert {parameter.dtype for parameter in policy.parameters()} == {torch.float32}
    assert {one.dtype for one in gradients(policy).values()} == {torch.float32}
    assert 0 < (rough - exact).abs().max() < 0.05


def test_a_model_is_loaded_from_its_folder(tmp_path: Path) -> None:
    tiny_qwen(3).to(torch.bfloat16).save_pretrained(tmp_path)
    settings = ModelSettings(model=str(tmp_path), lora=None, frozen_dtype="bfloat16")
    full = load(settings)
    assert {parameter.dtype for parameter in full.parameters()} == {torch.float32}
    below = load(settings.model_copy(update={"lora": LoraSettings(rank=2)}))
    trained = {p.dtype for p in below.parameters() if p.requires_grad}
    frozen = {p.dtype for p in below.parameters() if not p.requires_grad}
    assert (trained, frozen) == ({torch.float32}, {torch.bfloat16})
    assert full(pack(ROWS)).logprobs_N.isfinite().all()


def test_a_folder_without_a_model_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="can't be loaded as a causal model"):
        load(ModelSettings(model=str(tmp_path)))


@pytest.mark.parametrize("tied", [True, False])
def test_tied_embeddings_are_told_by_the_tensors_and_untied_without_a_change(tied: bool) -> None:
    model = tiny_qwen(tied=tied)
    model.config.tie_word_embeddings = False
    before = Policy(model)(pack(ROWS)).logprobs_N
    assert is_tied(model) is tied
    untie(model)
    assert not is_tied(model)
    assert torch.equal(Policy(model)(pack(ROWS)).logprobs_N, before)


def test_an_untied_model_stays_so_on_disk(tmp_path: Path) -> None:
    model = tiny_qwen(tied=True)
    untie(model)
    with torch.no_grad():
        model.lm_head.weight.add_(1)
    model.save_pretrained(tmp_path)
    loaded = load(PLAIN.model_copy(update={"model": str(tmp_path)}))
    assert not is_tied(loaded.base)
    assert torch.equal(loaded.base.lm_head.weight, model.lm_head.weight)


def test_the_trainer_loads_neither_graph_nor_chroma() -> None:
    code = (
        "import sys, tmas_graph.grpo.step, tmas_graph.grpo.loading; "
        "print(*{m.split('.')[0] for m in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"langgraph", "chromadb", "openai"} & set(done.stdout.split()) == set()
