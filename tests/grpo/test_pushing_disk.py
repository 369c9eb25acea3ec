"""Full weights that are pushed through a folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from safetensors.torch import load_file

from grpo import tiny
from grpo.fake_vllm import NAME, FakeVllm
from tmas_graph.errors import EndpointDown, SettingsError, StorageError
from tmas_graph.grpo import weights
from tmas_graph.grpo.pushing_disk import RPC, DiskPusher
from tmas_graph.grpo.sampling import Served
from tmas_graph.grpo.server import Server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server(fake: FakeVllm) -> AsyncIterator[Server]:
    async with Server(fake.url) as server:
        yield server


async def test_the_server_is_paused_while_it_reads(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    pusher = DiskPusher(server, tmp_path, seconds=20.0)
    model = tiny.model()
    assert await pusher.push(model, 3) == Served(NAME, 3)
    assert fake.paths() == [
        "/v1/models",
        "/pause",
        "/collective_rpc",
        "/reset_prefix_cache",
        "/resume",
        "/is_paused",
    ]
    place = str(tmp_path / "weights-3")
    arguments = {"method": "reload_weights", "kwargs": {"weights_path": place}, "timeout": 20.0}
    assert (RPC, arguments) in fake.asked
    await pusher.push(model, 4)
    assert tiny.names(tmp_path) == ["weights-4"]


def test_all_weights_are_written(tmp_path: Path) -> None:
    model = tiny.model()
    weights.write_full(model, tmp_path, shard_bytes=50_000)
    files = sorted(tmp_path.glob("*.safetensors"))
    assert len(files) > 2
    written = {name: tensor for file in files for name, tensor in load_file(file).items()}
    assert {name: t.tolist() for name, t in written.items()} == {
        name: t.tolist() for name, t in model.state_dict().items()
    }
    assert {oct(file.stat().st_mode & 0o777) for file in files} == {"0o644"}


def test_what_is_written_can_be_loaded(tmp_path: Path) -> None:
    model = tiny.model()
    weights.write_full(model, tmp_path, shard_bytes=50_000)
    loaded = tiny.loaded(tmp_path).state_dict()
    assert {name: t.tolist() for name, t in loaded.items()} == {
        name: t.tolist() for name, t in model.state_dict().items()
    }


async def test_it_goes_on_where_the_reading_fails(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    fake.fail(RPC, 500)
    pusher = DiskPusher(server, tmp_path)
    with pytest.raises(EndpointDown, match="partly old and partly new: push again"):
        await pusher.push(tiny.model(), 1)
    assert not fake.paused
    assert await pusher.push(tiny.model(), 1) == Served(NAME, 1)


async def test_a_full_disk_leaves_the_server_alone(
    fake: FakeVllm, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(model: object, folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(weights, "write_full", full)
    with pytest.raises(StorageError, match=r"No space left.*weights that it had"):
        await DiskPusher(server, tmp_path).push(tiny.model(), 1)
    assert fake.paths() == ["/v1/models"]
    assert not tiny.names(tmp_path)


async def test_a_tied_model_is_refused(fake: FakeVllm, server: Server, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"tied.*python -m tmas_graph\.grpo untie"):
        await DiskPusher(server, tmp_path).push(tiny.model(tied=True), 1)
    assert fake.asked == []


async def test_a_server_of_a_tied_model_is_refused(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    tiny.saved(tmp_path / "tied", tied=True)
    fake.root = str(tmp_path / "tied")
    with pytest.raises(SettingsError, match=rf"serves {fake.root}.*grpo untie"):
        await DiskPusher(server, tmp_path / "w").push(tiny.model(), 1)
    assert fake.paths() == ["/v1/models"]


async def test_only_the_first_rank_speaks_to_the_server(
    fake: FakeVllm, server: Server, tmp_path: Path
) -> None:
    assert (await DiskPusher(server, tmp_path, rank=1).push(tiny.model(), 4)).version == 4
    assert fake.asked == []
    assert not tiny.names(tmp_path)
