"""A trainer's sampling, pushes and parity checks at a real vLLM, with a tiny model."""

import ast
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import peft
import pytest
from grpo import tiny

from engines.process import VllmServer
from engines.training_run import NAME, vllm
from tmas_graph.errors import EndpointDown, PolicyMismatch, SettingsError
from tmas_graph.grpo import parity, pushing_disk, weights
from tmas_graph.grpo.pushing_disk import DiskPusher
from tmas_graph.grpo.pushing_lora import LoraPusher
from tmas_graph.grpo.sampling import Sampler, Sampling, Served
from tmas_graph.grpo.server import Patience, Server
from tmas_graph.grpo.tied import untied_copy

pytestmark = [pytest.mark.vllm, pytest.mark.anyio, pytest.mark.timeout(600), pytest.mark.training]
MESSAGES = ({"role": "user", "content": "12+34=?"},)
TEMPERATURE = 0.7
"""Raw log-probabilities would differ."""


@asynccontextmanager
async def sampling(engine: VllmServer) -> AsyncIterator[Sampler]:
    """Short groups."""
    drawn = Sampling(temperature=TEMPERATURE, max_tokens=12, group_size=4)
    async with Server(engine.url) as server:
        yield Sampler(server, Served(NAME), drawn, patience=Patience(120.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tied model and its untied copy, in `tied` and `untied`."""
    folder = tmp_path_factory.mktemp("training")
    tiny.saved(folder / "tied", tied=True)
    untied_copy(folder / "tied", folder / "untied")
    return folder


@pytest.fixture(scope="module")
def engine(engine_home: Path, folder: Path) -> Iterator[VllmServer]:
    """A vLLM that serves the untied copy."""
    with vllm(engine_home, folder / "untied", folder) as server:
        yield server


@pytest.fixture
async def sampler(engine: VllmServer) -> AsyncIterator[Sampler]:
    async with sampling(engine) as sampler:
        yield sampler


def adapted(folder: Path) -> Any:
    """The model with a LoRA that changes nothing yet."""
    config = peft.LoraConfig(
        r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM", lora_dropout=0.0
    )
    return peft.get_peft_model(tiny.loaded(folder), config)


async def agreed(sampler: Sampler, model: Any) -> None:
    """Check that the server has the policy, and hasn't the one before the last push."""
    found = await parity.check(sampler, MESSAGES, tiny.logprobs_of(model, TEMPERATURE))
    assert found.difference < 1e-3
    assert found.tokens > 2


async def test_a_group_is_in_the_servers_own_tokens(sampler: Sampler) -> None:
    group = await sampler.group(MESSAGES, seed=5)
    tokens = tiny.tokenizer()
    [prompt] = {sample.prompt_ids for sample in group}
    assert tokens.decode(prompt) == "<user>12+34=?<assistant>"
    assert [sample.seed for sample in group] == [5, 6, 7, 8]
    for sample in group:
        ended = sample.completion_ids[-1] == tokens.eos_token_id
        assert sample.truncated == (not ended)
        assert tokens.decode(sample.completion_ids).removesuffix("<eos>") == sample.text


async def test_neighbouring_seeds_overlap(sampler: Sampler) -> None:
    first, second = await sampler.group(MESSAGES, seed=5), await sampler.group(MESSAGES, seed=6)
    assert [s.completion_ids for s in first[1:]] == [s.completion_ids for s in second[:-1]]
    assert len({sample.completion_ids for sample in first}) == 4


async def test_adapters_are_pushed_one_after_another(sampler: Sampler, folder: Path) -> None:
    model = adapted(folder / "untied")
    pusher = LoraPusher(sampler.server, folder / "adapters")
    for version in (1, 2, 3):
        tiny.shaken(model, seed=version)
        sampler.served = await pusher.push(model, version)
        await agreed(sampler, model)
    names = [card["id"] for card in (await sampler.server.get("/v1/models", Patience(60)))["data"]]
    assert len(names) == 3  # the model, and two versions
    await pusher.close()
    assert not tiny.names(folder / "adapters")


async def test_weights_are_pushed_through_a_folder(sampler: Sampler, folder: Path) -> None:
    model = tiny.loaded(folder / "untied")
    pusher = DiskPusher(sampler.server, folder / "weights")
    for version in (1, 2):
        tiny.shaken(model, seed=version)
        sampler.served = await pusher.push(model, version)
        await agreed(sampler, model)
    assert tiny.names(folder / "weights") == ["weights-2"]


async def test_a_push_that_fails_leaves_the_server_running(
    sampler: Sampler, folder: Path, tmp_path: Path
) -> None:
    model = tiny.loaded(folder / "untied")
    pusher = DiskPusher(sampler.server, tmp_path / "weights")
    whole = weights.write_full
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "write_full", lambda model, place: (place / "x").write_text(""))
        with pytest.raises(EndpointDown, match="partly old and partly new"):
            await pusher.push(model, 1)
    assert weights.write_full is whole
    sampler.served = await pusher.push(model, 1)
    await agreed(sampler, model)


async def test_tied_weights_are_refused_and_would_be_found_out(
    engine_home: Path, folder: Path, tmp_path: Path
) -> None:
    with vllm(engine_home, folder / "tied", tmp_path) as engine:
        async with sampling(engine) as sampler:
            pusher = DiskPusher(sampler.server, tmp_path / "weights")
            for name in ("tied", "untied"):  # the trainer's model and the server's
                with pytest.raises(SettingsError, match="grpo untie"):
                    await pusher.push(tiny.loaded(folder / name), 1)
            model = tiny.loaded(folder / "tied")
            tiny.shaken(model)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(pushing_disk, "refuse_tied", lambda model, way: None)
                patch.setattr(pushing_disk, "is_tied_folder", lambda folder: False)
                sampler.served = await pusher.push(model, 1)
            with pytest.raises(PolicyMismatch, match=r"untied.*push again") as caught:
                await parity.check(sampler, MESSAGES, tiny.logprobs_of(model, TEMPERATURE))
            assert caught.value.difference > 0.01


def names_in(file: Path, kind: str, function: str = "") -> set[str]:
    """The fields of a class, or the parameters of one of its functions, read without an import."""
    [found] = [
        node
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == kind
    ]
    if not function:
        return {
            str(getattr(n.target, "id", "")) for n in found.body if isinstance(n, ast.AnnAssign)
        }
    [called] = [n for n in found.body if isinstance(n, ast.FunctionDef) and n.name == function]
    return {one.arg for one in (*called.args.args, *called.args.kwonlyargs)}


def test_what_is_used_of_vllms_transfer_is_there(engine_home: Path) -> None:
    [place] = engine_home.glob("lib/python*/site-packages/vllm/distributed/weight_transfer")
    engine, base = place / "nccl_engine.py", place / "base.py"
    meeting = {"master_address", "master_port", "world_size"}
    assert meeting <= names_in(engine, "NCCLTrainerInitInfo")
    assert "rank" in names_in(base, "TrainerInitInfo")
    sender = "NCCLTrainerWeightTransferEngine"
    assert names_in(engine, sender, "send_weights") == {"self"}
    assert names_in(engine, sender, "shutdown") == {"self"}
    assert "module" in names_in(base, "ModuleSource", "__init__")
    client = names_in(place / "clients.py", "HTTPVLLMWeightSyncClient", "__init__")
    assert client == {"self", "base_url", "timeout"}
    factory = names_in(place / "factory.py", "WeightTransferTrainerFactory", "trainer_init")
    assert factory == {"cls", "init_info", "client", "source"}
