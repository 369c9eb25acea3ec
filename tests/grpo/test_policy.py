import pytest
import torch
from tiny_models import gradients, largest_gap, samples, tiny_llama, tiny_qwen
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.packing import pack, pad
from tmas_graph.grpo.policy import Policy

ROWS = samples(5)


def rows(given):
    """Packed into rows as wide as need be."""
    return pack(given, width=1)


def one_by_one(model: nn.Module, temperature: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """The obvious way: each sample alone, through the model's own logits."""
    logprobs, entropies = [], []
    for sample in ROWS:
        ids = torch.tensor([[*sample.prompt_ids, *sample.completion_ids]])
        logits = model(ids).logits[0, len(sample.prompt_ids) - 1 : -1] / temperature
        logs = logits.log_softmax(-1)
        chosen = torch.tensor(sample.completion_ids)[:, None]
        logprobs.append(logs.gather(-1, chosen)[:, 0])
        entropies.append(-(logs.exp() * logs).sum(-1))
    return torch.cat(logprobs), torch.cat(entropies)


@pytest.mark.parametrize("make", [tiny_qwen, tiny_llama])
@pytest.mark.parametrize("way", [pack, rows, pad])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_packed_equals_padded_equals_one_by_one(make, way, temperature: float) -> None:
    found = []
    for obvious in (False, True):
        model = make().double()
        policy = Policy(model)
        assert policy.packs
        logprobs, entropies = (
            one_by_one(model, temperature) if obvious else policy(way(ROWS), temperature)
        )
        (logprobs.sum() + 0.1 * entropies.sum()).backward()
        found.append((logprobs, entropies, gradients(model)))
    torch.testing.assert_close(found[0][0], found[1][0], atol=1e-12, rtol=0)
    torch.testing.assert_close(found[0][1], found[1][1], atol=1e-12, rtol=0)
    assert largest_gap(found[0][2], found[1][2]) < 1e-12


def test_a_tied_head_gets_the_gradient_of_both_its_uses() -> None:
    found = []
    for obvious in (False, True):
        model = tiny_qwen(tied=True).double()
        logprobs, _ = one_by_one(model) if obvious else Policy(model)(pack(ROWS))
        logprobs.sum().backward()
        found.append(gradients(model))
    assert largest_gap(*found) < 1e-12


def test_a_model_whose_packed_sequences_see_one_another_is_found_out() -> None:
    class Leaky(type(tiny_qwen().model)):
        def forward(self, *given, position_ids=None, **more):
            return super().forward(*given, **more)

    for attention in ("sdpa", "flash_attention_2"):
        model = tiny_qwen()
        assert Policy(model).packs
        model.model.__class__ = Leaky
        # Only the name: a batch is then made of one row.
        policy = Policy(model)
        policy.in_one_row = attention != "sdpa"
        assert not policy.packs
        assert not policy.keeps_apart()


def test_dropout_is_off_in_training() -> None:
    shape = {"n_layer": 1, "n_head": 1, "n_embd": 8, "vocab_size": 61, "resid_pdrop": 0.5}
    model = GPT2LMHeadModel(GPT2Config(**shape)).train()
    policy = Policy(model)
    first, second = (policy(pad(ROWS)).logprobs_N for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize(
    ("field", "value"), [("final_logit_softcapping", 30.0), ("logits_scaling", 8.0)]
)
def test_a_model_with_changed_logits_is_refused(field: str, value: float) -> None:
    model = tiny_qwen()
    setattr(model.config, field, value)
    with pytest.raises(SettingsError, match=rf"changed by {field} \({value}\)"):
        Policy(model)


def test_a_head_with_a_bias_is_refused() -> None:
    model = tiny_qwen()
    model.lm_head.bias = nn.Parameter(torch.zeros(61))
    with pytest.raises(SettingsError, match="has a bias"):
        Policy(model)


def test_full_weights_have_no_reference() -> None:
    policy = Policy(tiny_qwen())
    with pytest.raises(SettingsError, match="no adapter to switch off"), policy.reference():
        pass
