"""The command that starts vLLM for a trainer."""

from pathlib import Path
from typing import Any

import pytest

from grpo import tiny
from tmas_graph.errors import SettingsError
from tmas_graph.grpo.serving import Serving, command_of


@pytest.mark.parametrize("way", ["lora", "disk", "nccl"])
def test_every_way_is_on_loopback_with_processed_logprobs(way: Any) -> None:
    command = command_of(Serving("some/model", way, port=8123))
    assert command.environment["VLLM_SERVER_DEV_MODE"] == "1"
    assert command.arguments[0] == "some/model"
    assert {
        "--host=127.0.0.1",
        "--port=8123",
        "--logprobs-mode=processed_logprobs",
        "--generation-config=vllm",
    } <= set(command.arguments)


def test_adapters_have_room_for_two_versions() -> None:
    command = command_of(Serving("m", lora_rank=20))
    assert command.environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "1"
    assert {"--enable-lora", "--max-lora-rank=32", "--max-loras=3"} <= set(command.arguments)


def test_a_transfer_is_configured_for_nccl_alone() -> None:
    wanted = '--weight-transfer-config={"backend": "nccl"}'
    assert wanted in command_of(Serving("m", "nccl")).arguments
    assert "--enable-lora" not in command_of(Serving("m", "nccl")).arguments
    assert wanted not in command_of(Serving("m", "disk")).arguments


def test_the_line_can_be_pasted_into_a_shell() -> None:
    serving = Serving("my model", "nccl", gpus=4, max_model_len=4096, dtype="bfloat16")
    assert command_of(serving).shell() == (
        "VLLM_SERVER_DEV_MODE=1 vllm serve 'my model' --host=127.0.0.1 --port=8000 "
        "--logprobs-mode=processed_logprobs --generation-config=vllm --tensor-parallel-size=4 "
        "--max-model-len=4096 --dtype=bfloat16 "
        """'--weight-transfer-config={"backend": "nccl"}'"""
    )


def test_a_tied_model_is_refused_where_all_weights_are_pushed(tmp_path: Path) -> None:
    tiny.saved(tmp_path, tied=True)
    assert command_of(Serving(str(tmp_path), "lora"))
    for way in ("disk", "nccl"):
        with pytest.raises(SettingsError, match=r"tied.*python -m tmas_graph\.grpo untie"):
            command_of(Serving(str(tmp_path), way))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [{"way": "ftp"}, {"gpus": 0}, {"lora_rank": 513}])
def test_what_cannot_be_served_is_refused(how: Any) -> None:
    with pytest.raises(SettingsError, match="serve: "):
        command_of(Serving("m", **how))
