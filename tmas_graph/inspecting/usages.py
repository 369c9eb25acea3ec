"""What calls cost, in inspect's words and in ours; and how inspect is told of it.

inspect counts by itself what goes through its models. Of other calls it has no public way to be
told: this is the only file that knows what it keeps inside, and a test holds it to that.
"""

from inspect_ai.model import ModelUsage
from inspect_ai.model._model import model_usage, sample_model_usage, set_model_usage
from inspect_ai.util._limit import check_token_limit, record_model_usage

from tmas_graph.usage import Usage


def theirs(usage: Usage) -> ModelUsage:
    """`usage` as inspect has it: of the prompt, what came from a cache is counted apart."""
    return ModelUsage(
        input_tokens=usage.prompt_tokens - usage.cached_tokens,
        output_tokens=usage.completion_tokens,
        total_tokens=usage.tokens,
        input_tokens_cache_read=usage.cached_tokens or None,
        reasoning_tokens=usage.reasoning_tokens or None,
        total_cost=usage.cost or None,
    )


def ours(usage: ModelUsage | None) -> Usage:
    """What one request of inspect's cost; with None only that it was sent."""
    if usage is None:
        return Usage(calls=1)
    cached = usage.input_tokens_cache_read or 0
    return Usage(
        calls=1,
        prompt_tokens=usage.input_tokens + cached + (usage.input_tokens_cache_write or 0),
        completion_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens or 0,
        cached_tokens=cached,
        cost=usage.total_cost or 0.0,
    )


def count(model: str, usage: Usage) -> None:
    """Charge what `model` was asked past inspect's own models to its sample and its eval."""
    spent = theirs(usage)
    set_model_usage(model, spent, sample_model_usage())
    set_model_usage(model, spent, model_usage())
    record_model_usage(spent)


def check() -> None:
    """Let inspect end the sample where its limit of tokens is passed.

    Raises:
        LimitExceededError: it is.
    """
    check_token_limit()
