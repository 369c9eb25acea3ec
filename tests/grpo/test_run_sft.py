"""The cold start: supervised fine-tuning on verified completions, by the same trainer."""

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from toy_run import PROBLEMS, SYMBOLS, prepared
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from grpo import tiny
from tmas_graph.errors import StorageError
from tmas_graph.grpo import checkpoint, metrics
from tmas_graph.grpo.exporting import FINAL
from tmas_graph.grpo.lessons import read_verified
from tmas_graph.grpo.run import train
from tmas_graph.grpo.tokenising import sample_of
from tmas_graph.grpo.trainer import CHECKPOINTS

TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"


def characters() -> PreTrainedTokenizerFast:
    vocabulary = {symbol: place for place, symbol in enumerate((*SYMBOLS, "</s>"))}
    own = Tokenizer(models.WordLevel(vocabulary, unk_token="#"))
    own.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made = PreTrainedTokenizerFast(tokenizer_object=own, eos_token="</s>")
    made.chat_template = TEMPLATE
    return made


def written(file: Path, **more: object) -> Path:
    lines = [
        {"prompt": [{"role": "user", "content": f"{one}?"}], "completion": "ab", **more}
        for one in PROBLEMS
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def test_the_likelihood_of_verified_completions_rises_and_a_resume_is_exact(tmp_path: Path) -> None:
    found = []
    for name, sittings in (("whole", (6,)), ("halves", (3, 6))):
        folder = tmp_path / name
        folder.mkdir()
        data = written(folder / "verified.jsonl")
        for steps in sittings:
            settings = prepared(folder, mode="sft", steps=steps, data__train=str(data))
            characters().save_pretrained(folder / "model")
            train(settings, resume=steps != sittings[0])
        lines = [one for one in metrics.read(folder / "run") if one["kind"] == "train"]
        found.append([one["nll"] for one in lines])
    assert found[0] == found[1]
    assert found[0][-1] < found[0][0] - 0.5


def test_full_weights_are_left_as_they_can_be_served_with_their_tokenizer(tmp_path: Path) -> None:
    data = written(tmp_path / "verified.jsonl")
    # It asks no server, so it needn't be said how weights would be pushed.
    settings = prepared(
        tmp_path, mode="sft", steps=1, data__train=str(data), server={"push": "lora"}
    )
    characters().save_pretrained(tmp_path / "model")
    train(settings)
    final = tmp_path / "run" / FINAL
    tokens = AutoTokenizer.from_pretrained(final)
    messages = [{"role": "user", "content": "a?"}]
    assert tokens.apply_chat_template(messages, tokenize=False) == "a?"
    assert tokens("ab")["input_ids"] == [0, 1]
    trained = checkpoint.read(tmp_path / "run" / CHECKPOINTS / "step-000001").tensors["weights"]
    for name, weight in tiny.loaded(final).named_parameters():
        assert torch.equal(weight, trained[f"model.{name}"])


def test_a_completion_ends_its_turn_and_is_all_that_is_learned() -> None:
    sample = sample_of(characters(), [{"role": "user", "content": "a?"}], "bc", {})
    assert sample.prompt_ids == (0, SYMBOLS.index("?"))
    assert sample.completion_ids == (1, 2, len(SYMBOLS))


def test_completions_that_are_wrong_are_left_out(tmp_path: Path) -> None:
    right, wrong = written(tmp_path / "a", correct=True), written(tmp_path / "b", correct=False)
    assert len(read_verified(right)) == len(PROBLEMS)
    with pytest.raises(StorageError, match="no verified completion is in it"):
        read_verified(wrong)


@pytest.mark.parametrize("line", ["{", '{"prompt": "a"}', '{"prompt": [], "completion": "a"}'])
def test_a_line_of_another_form_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(f"\n{line}\n")
    with pytest.raises(StorageError, match=r"data\.jsonl:2: "):
        read_verified(file)
