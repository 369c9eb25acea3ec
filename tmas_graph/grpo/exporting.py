"""Leaves what was trained as peft, transformers and vLLM read it."""

import shutil
from contextlib import suppress
from pathlib import Path

from tmas_graph.errors import StorageError
from tmas_graph.grpo import weights
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.rank_talk import RankTalk
from tmas_graph.grpo.tokenising import tokenizer_of

FINAL = "final"


def export(policy: Policy, source: str, folder: Path, talk: RankTalk) -> None:
    """Write the policy that began as the model `source`; all ranks gather, one writes.

    Raises:
        StorageError: it can't be written.
    """
    named = weights.adapter_weights if policy.has_adapter else weights.full_weights
    if not talk.is_first:
        weights.take_part(named(policy.model))
        return

    def fill(partial: Path) -> None:
        if policy.has_adapter:
            weights.write_adapter(policy.model, partial)
        else:
            weights.write_full(policy.model, partial)
            _write_what_goes_with_it(policy, source, partial)

    shutil.rmtree(folder, ignore_errors=True)  # of a run that went on from here
    weights.written(folder, fill)


def _write_what_goes_with_it(policy: Policy, source: str, folder: Path) -> None:
    """Write what a server needs besides weights: the tokenizer, and where a reply ends."""
    generation = getattr(policy.base, "generation_config", None)
    if generation is not None:
        with suppress(ValueError):  # transformers loads files that it then refuses to write
            generation.save_pretrained(folder)
    try:
        tokenizer_of(source).save_pretrained(folder)
    except StorageError:
        return  # the model came without one, and was sampled with another folder's
