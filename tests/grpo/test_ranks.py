import pytest
import torch
from tiny_models import gradients, largest_gap, tiny_qwen, training_rows

from grpo.two_processes import joined
from tmas_graph.grpo.loss import LossSettings
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.ranks import Ranks
from tmas_graph.grpo.step import StepSettings, grpo_step


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, tuple]]:
    """What each of two processes saw of a step, by the way the rows and weights were spread."""
    folder = tmp_path_factory.mktemp("ranks")
    joined("two_ranks.py", folder / "meeting", folder)
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


@pytest.mark.training
@pytest.mark.parametrize("way", ["plain", "uneven", "sharded", "sharded_uneven"])
def test_two_ranks_give_the_gradient_and_metrics_of_one(
    seen: list[dict[str, tuple]], way: str
) -> None:
    policy = Policy(tiny_qwen().double())
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
    settings = StepSettings(loss=LossSettings(mismatch="truncate"), max_grad_norm=0.5)
    alone = grpo_step(policy, optimizer, training_rows(9, groups=3), settings)
    for loss, norm, metrics, found in (by_way[way] for by_way in seen):
        assert loss == pytest.approx(alone.loss, abs=1e-12)
        assert norm == pytest.approx(alone.grad_norm, rel=1e-9)
        assert largest_gap(found, gradients(policy)) < 1e-12
        assert metrics.keys() == alone.metrics.keys()
        for name, rate in alone.metrics.items():
            assert metrics[name] == pytest.approx(tuple(rate)), name


def test_rows_are_shared_so_that_ranks_have_alike_many_tokens() -> None:
    lengths = [9, 1, 5, 4, 8, 3]
    shares = [Ranks(rank, 2).share(lengths) for rank in range(2)]
    assert sorted(shares[0] + shares[1]) == list(range(6))
    assert [sum(lengths[place] for place in share) for share in shares] == [16, 14]


def test_a_process_alone_is_the_only_rank() -> None:
    ranks = Ranks.current()
    values = torch.ones(2)
    assert (ranks.rank, ranks.size, ranks.most(3)) == (0, 1, 3)
    assert ranks.summed(values) is values
