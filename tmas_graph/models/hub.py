"""GGUF files from the Hugging Face hub: `org/repo`, `org/repo:quant` or `org/repo:file.gguf`."""

import importlib
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tmas_graph.errors import EndpointDown, MissingExtra, SettingsError, TmasError
from tmas_graph.models.catalogue import Progress

REFERENCE = re.compile(r"(?P<repo>\w[\w.-]*/\w[\w.-]*)(?::(?P<wanted>[^:]+))?")
SHARD = re.compile(r"-\d{5}-of-(?P<count>\d{5})\.gguf$")
DEFAULT_QUANT = "Q4_K_M"


def fetch(reference: str, folder: Path, progress: Progress, endpoint: str | None = None) -> Path:
    """Return the file that `reference` names, downloaded into `folder`/org/repo if it isn't there.

    Without a quant it is Q4_K_M, else the first file by name. Of a model in several files it is
    the first. A file that is there is used without asking the hub. `endpoint` is the URL of a
    mirror; None: what huggingface_hub is set to.

    Raises:
        SettingsError: the hub has no such repository or file, or it needs a login.
        EndpointDown: the hub can't be reached.
        MissingExtra: huggingface_hub isn't installed.
    """
    match = REFERENCE.fullmatch(reference)
    assert match is not None
    repo, wanted = match["repo"], match["wanted"]
    place = folder / repo
    here = pick((path.relative_to(place).as_posix() for path in place.rglob("*.gguf")), wanted)
    if here:
        return place / here[0]
    hub = _huggingface_hub()
    api = hub.HfApi(endpoint=endpoint)
    try:
        # not list_repo_files: it tries for 23 s before it says that nothing answers
        names = [sibling.rfilename for sibling in api.model_info(repo).siblings or ()]
        files = pick(names, wanted)
        if not files:
            raise SettingsError(_no_such_file(reference, names))
        for file in files:
            api.hf_hub_download(repo, file, local_dir=place, tqdm_class=_bar(progress))
    except TmasError:
        raise
    except Exception as error:  # the hub's transport, and so its errors, differ between versions
        raise _mapped(error, reference, hub.errors) from error
    return place / files[0]


def pick(names: Iterable[str], wanted: str | None) -> tuple[str, ...]:
    """Choose the file of a repository, all its parts in order; empty if none fits or one lacks.

    `wanted` is a file's name or a quant such as Q4_K_M, in any case.
    """
    ggufs = sorted(n for n in names if n.endswith(".gguf") and "mmproj" not in n.lower())
    if wanted is None:
        chosen = [n for n in ggufs if _has_quant(n, DEFAULT_QUANT)] or ggufs
    else:
        chosen = [n for n in ggufs if n == wanted] or [n for n in ggufs if _has_quant(n, wanted)]
    return next((parts for n in chosen if (parts := _parts(n, ggufs))), ())


def _has_quant(name: str, quant: str) -> bool:
    """Find `quant` as a word: Q4_K is neither in IQ4_K nor in Q4_K_M."""
    word = rf"(?<![A-Za-z0-9]){re.escape(quant)}(?![A-Za-z0-9_])"
    return re.search(word, name, re.IGNORECASE) is not None


def _parts(name: str, names: list[str]) -> tuple[str, ...]:
    shard = SHARD.search(name)
    if shard is None:
        return (name,)
    stem, count = name[: shard.start()], int(shard["count"])
    parts = tuple(f"{stem}-{i:05}-of-{count:05}.gguf" for i in range(1, count + 1))
    return parts if set(parts) <= set(names) else ()


def _no_such_file(reference: str, names: Iterable[str]) -> str:
    ggufs = sorted(n for n in names if n.endswith(".gguf"))
    if not ggufs:
        return f"{reference}: the repository has no GGUF file. Name one whose files end in .gguf."
    repo = reference.partition(":")[0]
    return (
        f"{reference}: no such GGUF file (there are {', '.join(ggufs[:8])}"
        f"{', …' if len(ggufs) > 8 else ''}). Name one, as {repo}:{ggufs[0]}."
    )


def _huggingface_hub() -> Any:
    """Import the hub's client only now: it takes a third of a second."""
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtra(
            "huggingface_hub isn't installed, and a model of the hub needs it. "
            'Run: pip install "tmas-graph[local]"'
        ) from error


def _mapped(error: Exception, reference: str, errors: Any) -> TmasError:
    repo = reference.partition(":")[0]
    if isinstance(error, errors.GatedRepoError):
        return SettingsError(
            f"{reference}: the hub asks for a login to this repository. Accept its terms on its "
            "page, run `hf auth login`, then try again."
        )
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return SettingsError(
            f"{reference}: the hub has no public repository {repo}. Check the spelling; "
            "for a private one run `hf auth login` first."
        )
    reason = str(error).strip().partition("\n")[0] or repr(error)
    return EndpointDown(
        f"{reference}: the Hugging Face hub can't be reached ({reason}). Check the connection, or "
        "give a GGUF file with --local-model PATH."
    )


def _bar(progress: Progress) -> Any:
    """Make the class that the hub takes for its progress bar: it reports and draws nothing."""
    base: Any = importlib.import_module("huggingface_hub.utils").tqdm

    class Bar(base):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "file": io.StringIO(), "disable": False})

        def update(self, n: float | None = 1) -> bool | None:
            shown: bool | None = super().update(n)
            progress(int(self.n), int(self.total) if self.total else None)
            return shown

    return Bar
