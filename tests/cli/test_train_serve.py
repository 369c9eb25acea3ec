import json
import shlex
from pathlib import Path

from cli.conftest import Tmas


def test_it_prints_one_line_for_a_shell_and_warns_beside_it(tmas: Tmas) -> None:
    done = tmas("train", "serve", "some/model", "--push", "disk", "--gpus", "2")
    assert done.code == 0
    [line] = done.out.splitlines()
    words = shlex.split(line)
    assert words[:4] == ["VLLM_SERVER_DEV_MODE=1", "vllm", "serve", "some/model"]
    assert "--tensor-parallel-size=2" in words
    assert "not protected by vLLM's --api-key" in done.err


def test_a_tied_model_is_a_mistake_with_a_way_out(tmas: Tmas, place: Path) -> None:
    (place / "tied").mkdir()
    config = json.dumps({"tie_word_embeddings": True})
    (place / "tied" / "config.json").write_text(config)
    done = tmas("train", "serve", "tied", "--push", "nccl")
    assert (done.code, done.out) == (2, "")
    assert "python -m tmas_graph.grpo untie tied tied-untied" in done.err
