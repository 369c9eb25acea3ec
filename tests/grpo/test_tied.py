"""Tied models: found out, and copied with a head of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from grpo import tiny
from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.grpo.__main__ import main
from tmas_graph.grpo.tied import HEAD, is_tied, is_tied_folder, refuse_tied, untied_copy


@pytest.fixture
def tied(tmp_path: Path) -> Path:
    tiny.saved(tmp_path / "tied", tied=True)
    return tmp_path / "tied"


def in_shards(folder: Path) -> None:
    """Split the weights of a saved model over two files, as large ones are."""
    file = folder / "model.safetensors"
    weights = load_file(file)
    file.unlink()
    names = sorted(weights)
    places = {}
    for at, part in enumerate((names[:5], names[5:])):
        shard = f"model-0000{at + 1}-of-00002.safetensors"
        save_file({name: weights[name] for name in part}, folder / shard, {"format": "pt"})
        places.update(dict.fromkeys(part, shard))
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("sharded", [False, True])
def test_the_copy_computes_the_same(tied: Path, tmp_path: Path, sharded: bool) -> None:
    if sharded:
        in_shards(tied)
    untied_copy(tied, tmp_path / "copy")
    before, after = tiny.loaded(tied), tiny.loaded(tmp_path / "copy")
    assert is_tied(before)
    assert not is_tied(after)
    assert not is_tied_folder(tmp_path / "copy")
    ids = torch.arange(2, 20)[None]
    with torch.no_grad():
        assert torch.equal(before(ids).logits, after(ids).logits)
    assert (tmp_path / "copy" / "tokenizer.json").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"tied", "copy"}


def test_a_model_is_tied_by_its_tensors_too() -> None:
    model = tiny.model(tied=True)
    model.config.tie_word_embeddings = False
    assert is_tied(model)
    with pytest.raises(SettingsError, match=r"push by disk .*`python -m tmas_graph\.grpo untie"):
        refuse_tied(model, "disk")
    refuse_tied(tiny.model(), "disk")


@pytest.mark.parametrize("is_so", [True, False])
def test_a_config_that_does_not_say_is_told_by_the_weights(tmp_path: Path, is_so: bool) -> None:
    tiny.saved(tmp_path, tied=is_so)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["tie_word_embeddings"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert is_tied_folder(tmp_path) == is_so


def test_a_head_that_was_saved_all_the_same_is_kept(tied: Path, tmp_path: Path) -> None:
    file = tied / "model.safetensors"
    weights = load_file(file)
    weights[HEAD] = weights["model.embed_tokens.weight"].clone()
    save_file(weights, file, {"format": "pt"})
    untied_copy(tied, tmp_path / "copy")
    assert torch.equal(tiny.loaded(tmp_path / "copy").lm_head.weight, weights[HEAD])


def test_what_cannot_be_untied_is_refused(tied: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="exists already"):
        untied_copy(tied, tied)
    untied_copy(tied, tmp_path / "copy")
    with pytest.raises(StorageError, match="isn't tied"):
        untied_copy(tmp_path / "copy", tmp_path / "another")
    with pytest.raises(StorageError, match=r"no model\.safetensors.*hf download"):
        untied_copy(tmp_path / "nowhere", tmp_path / "another")
    assert {path.name for path in tmp_path.iterdir()} == {"tied", "copy"}


@pytest.mark.parametrize("kept", [9, 5000])
def test_a_copy_that_fails_leaves_nothing(tied: Path, tmp_path: Path, kept: int) -> None:
    (tied / "model.safetensors").write_bytes((tied / "model.safetensors").read_bytes()[:kept])
    with pytest.raises(StorageError, match="Fetch the model anew"):
        untied_copy(tied, tmp_path / "copy")
    assert {path.name for path in tmp_path.iterdir()} == {"tied"}


def test_the_command_unties(tied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["untie", str(tied), str(tmp_path / "copy")]) == 0
    assert "an untied copy" in capsys.readouterr().out
    assert main(["untie", str(tied), str(tmp_path / "copy")]) == 2
    assert "exists already" in capsys.readouterr().err


def test_the_module_is_a_program() -> None:
    command = [sys.executable, "-m", "tmas_graph.grpo", "untie", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "SRC DST" in done.stdout
