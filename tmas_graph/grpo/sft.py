"""Supervised fine-tuning on verified rollouts, the cold start of a policy.

The same rows, weights and microbatches as the reinforcement; only the objective is another one:
the mean negative log-likelihood of the completions.
"""

from tmas_graph.grpo.accumulating import Part
from tmas_graph.grpo.loss import LossOutputs, likelihood_loss


def sft_objective(part: Part) -> LossOutputs:
    """Give Σ weight · −log p over the completion tokens that count."""
    return likelihood_loss(
        part.tokens.logprobs_N, part.batch.row_N, part.weights_R, part.batch.mask_N
    )
