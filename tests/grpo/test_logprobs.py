import pytest
import torch
from torch import Tensor

from tmas_graph.grpo.logprobs import Head, token_logprobs

F64 = torch.float64
N, H, V, K = 11, 5, 23, 2


def made(dtype: torch.dtype = F64) -> dict[str, Tensor]:
    torch.manual_seed(3)
    sizes = {"hidden": (N, H), "weight": (V, H), "down": (K, H), "up": (V, K)}
    return {
        name: torch.randn(*size, dtype=F64).to(dtype).requires_grad_()
        for name, size in sizes.items()
    }


TARGETS = torch.arange(N) * 2 % V
BY_LOGPROBS, BY_ENTROPIES = torch.linspace(-1, 2, N, dtype=F64), torch.linspace(1, -3, N, dtype=F64)


def dense(given: dict[str, Tensor], temperature: float, lora: bool) -> tuple[Tensor, Tensor]:
    """The obvious way, with all logits at once."""
    weight = given["weight"] + (0.7 * given["up"] @ given["down"] if lora else 0)
    logs = (given["hidden"] @ weight.T / temperature).log_softmax(-1)
    return logs.gather(-1, TARGETS[:, None])[:, 0], -(logs.exp() * logs).sum(-1)


def tiled(
    given: dict[str, Tensor], temperature: float, lora: bool, tile: int
) -> tuple[Tensor, Tensor]:
    extra = (given["down"], given["up"], 0.7) if lora else ()
    head = Head(given["weight"], *extra)
    return token_logprobs(given["hidden"], TARGETS, head, temperature=temperature, tile=tile)


@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("tile", [1, 4, 11, 100])
def test_tiles_equal_the_dense_way_with_gradients(tile: int, lora: bool) -> None:
    results = []
    for way in (lambda g: dense(g, 1.7, lora), lambda g: tiled(g, 1.7, lora, tile)):
        given = made()
        logprobs, entropies = way(given)
        ((logprobs * BY_LOGPROBS).sum() + (entropies * BY_ENTROPIES).sum()).backward()
        gradients = [g.grad for g in given.values() if g.grad is not None]
        results.append([logprobs, entropies, *gradients])
    assert len(results[0]) == len(results[1]) == (6 if lora else 4)
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("which", [0, 1])
def test_gradients_are_those_of_finite_differences(which: int) -> None:
    given = made()

    def run(hidden: Tensor, weight: Tensor, down: Tensor, up: Tensor) -> Tensor:
        head = Head(weight, down, up, 0.7)
        return token_logprobs(hidden, TARGETS, head, temperature=0.6, tile=3)[which]

    assert torch.autograd.gradcheck(run, tuple(given.values()))


def test_the_temperature_divides_the_logits() -> None:
    given = made()
    hot, cold = (tiled(given, temperature, False, 4)[1] for temperature in (100.0, 0.01))
    assert hot.min() > torch.log(torch.tensor(V)) - 0.01
    assert cold.max() < 0.5 * hot.min()


def test_a_frozen_head_gets_no_gradient() -> None:
    given = made()
    head = Head(given["weight"].detach())
    token_logprobs(given["hidden"], TARGETS, head).logprobs_N.sum().backward()
    assert given["hidden"].grad is not None
    assert given["weight"].grad is None


def test_float32_is_right_to_its_precision() -> None:
    exact, _ = dense(made(), 1.0, False)
    rough, _ = tiled(made(torch.float32), 1.0, False, 4)
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough.double(), exact, atol=1e-5, rtol=1e-5)


def test_products_in_bfloat16_sum_in_float32() -> None:
    given = made(torch.float32)
    head = Head(given["weight"])
    rough = token_logprobs(given["hidden"], TARGETS, head, dtype=torch.bfloat16, tile=4)
    exact, _ = dense(made(), 1.0, False)
    assert rough.logprobs_N.dtype == torch.float32
    torch.testing.assert_close(rough.logprobs_N.double(), exact, atol=0.1, rtol=0.02)
    rough.logprobs_N.sum().backward()
    assert given["weight"].grad.dtype == torch.float32


def test_no_tensor_of_tokens_by_vocabulary_is_made() -> None:
    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        most = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            for one in made if isinstance(made, tuple) else [made]:
                self.most = max(self.most, one.numel() if isinstance(one, Tensor) else 0)
            return made

    tokens, vocabulary = 256, 512
    hidden, weight = torch.randn(tokens, 8), torch.randn(vocabulary, 8)
    hidden.requires_grad_()
    with Largest() as seen:
        made = token_logprobs(
            hidden, torch.zeros(tokens, dtype=torch.long), Head(weight.requires_grad_()), tile=16
        )
        (made.logprobs_N.sum() + made.entropies_N.sum()).backward()
    assert seen.most == 16 * vocabulary
