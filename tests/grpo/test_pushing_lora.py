"""Adapters that are pushed one after another."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import peft
import pytest
from safetensors.torch import load_file

from grpo import tiny
from grpo.fake_vllm import FakeVllm
from tmas_graph.errors import EndpointDown, RequestRefused, SettingsError
from tmas_graph.grpo.pushing_lora import LOAD, UNLOAD, LoraPusher
from tmas_graph.grpo.server import Server

pytestmark = pytest.mark.anyio


def adapted(*, tied: bool = False, targets: Any = ("q_proj", "up_proj")) -> Any:
    config = peft.LoraConfig(r=2, target_modules=list(targets), task_type="CAUSAL_LM")
    model = peft.get_peft_model(tiny.model(tied=tied), config)
    tiny.shaken(model)
    return model


@pytest.fixture
async def server(fake: FakeVllm) -> AsyncIterator[Server]:
    async with Server(fake.url) as server:
        yield server


async def test_each_version_has_a_name_and_a_folder_of_its_own(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    model = adapted()
    pusher = LoraPusher(server, tmp_path)
    served = [await pusher.push(model, version) for version in (1, 2, 3)]
    assert [one.version for one in served] == [1, 2, 3]
    # The version before stays: samples of it may be on their way.
    expected = {one.model: str(tmp_path / one.model) for one in served[1:]}
    assert fake.adapters == expected
    assert set(tiny.names(tmp_path)) == set(expected)
    await pusher.close()
    assert not fake.adapters
    assert not tiny.names(tmp_path)


async def test_the_folder_is_what_peft_would_write(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    model = adapted()
    served = await LoraPusher(server, tmp_path / "own").push(model, 1)
    model.save_pretrained(tmp_path / "peft")
    own, theirs = tmp_path / "own" / served.model, tmp_path / "peft"
    weights, others = (load_file(at / "adapter_model.safetensors") for at in (own, theirs))
    assert {name: w.tolist() for name, w in weights.items()} == {
        name: w.tolist() for name, w in others.items()
    }
    configs = [json.loads((at / "adapter_config.json").read_text()) for at in (own, theirs)]
    for config in configs:
        config["target_modules"].sort()
        del config["inference_mode"]
    assert configs[0] == configs[1]


async def test_a_lost_answer_is_no_failure(fake: FakeVllm, server: Server, tmp_path: Path) -> None:
    # The server has loaded it, the answer is lost, and the second attempt says so.
    fake.fail(LOAD, lambda body: fake.fail(LOAD, 500) or None)
    pusher = LoraPusher(server, tmp_path)
    pusher._patience = pusher._patience.__class__(20.0, attempts=3, pause=0.001)
    served = await pusher.push(adapted(), 1)
    assert served.model in fake.adapters


async def test_a_failed_push_says_what_is_served(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    pusher = LoraPusher(server, tmp_path)
    before = await pusher.push(adapted(), 1)
    pusher._patience = pusher._patience.__class__(20.0, attempts=2, pause=0.001)
    fake.fail(LOAD, 500, 500)
    with pytest.raises(EndpointDown, match=r"still samples from the version before.*lora-rank"):
        await pusher.push(adapted(), 2)
    assert list(fake.adapters) == [before.model]
    assert (await pusher.push(adapted(), 2)).version == 2


async def test_a_server_that_takes_no_adapters_is_refused(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    fake.fail(LOAD, 404)
    with pytest.raises(RequestRefused, match="`tmas train serve`"):
        await LoraPusher(server, tmp_path).push(adapted(), 1)


async def test_what_a_killed_trainer_has_loaded_is_unloaded(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    killed = await LoraPusher(server, tmp_path).push(adapted(), 1)
    fake.adapters["another's"] = "/elsewhere/adapter"
    served = await LoraPusher(server, tmp_path).push(adapted(), 1)
    assert served.model != killed.model
    assert set(fake.adapters) == {"another's", served.model}


async def test_what_a_killed_trainer_has_written_goes_though_the_server_is_new(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    await LoraPusher(server, tmp_path).push(adapted(), 1)
    (tmp_path / ".policy-abcdef-2.partial").mkdir()
    fake.adapters.clear()
    served = await LoraPusher(server, tmp_path).push(adapted(), 1)
    assert tiny.names(tmp_path) == [served.model]


async def test_what_is_gone_from_the_server_needs_no_unloading(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    pusher = LoraPusher(server, tmp_path)
    await pusher.push(adapted(), 1)
    fake.adapters.clear()  # it was started again
    await pusher.close()
    assert fake.paths()[-1] == UNLOAD


async def test_only_the_first_rank_speaks_to_the_server(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    assert (await LoraPusher(server, tmp_path, rank=1).push(adapted(), 4)).version == 4
    assert fake.asked == []
    assert not tiny.names(tmp_path)


async def test_a_model_without_an_adapter_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="has no adapter"):
        await LoraPusher(server, tmp_path).push(tiny.model(), 1)


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`:UserWarning")
async def test_an_adapter_of_a_tied_head_is_refused(server: Server, tmp_path: Path) -> None:
    model = adapted(tied=True, targets=("q_proj", "lm_head"))
    with pytest.raises(SettingsError, match=r"lm_head.*tied.*grpo untie"):
        await LoraPusher(server, tmp_path).push(model, 1)


async def test_an_adapter_beside_a_tied_head_is_pushed(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    served = await LoraPusher(server, tmp_path).push(adapted(tied=True), 1)
    assert served.model in fake.adapters
