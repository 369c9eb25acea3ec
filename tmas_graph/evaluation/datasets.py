"""Data sets of problems: by name, by JSONL file, or by Hugging Face id.

Two ship with the package; the others load from where the user has them, because their texts may
not be republished. `version` is printed beside every score: golds change between releases.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from tmas_graph.errors import MissingExtra, ProblemError
from tmas_graph.evaluation.rows import Keys, Placed, jsonl, read
from tmas_graph.settings import near
from tmas_graph.state import Problem

_DATA = Path(str(files("tmas_graph") / "evaluation" / "data"))
_Rows = list[Placed]
_FILES = (".jsonl", ".json")
_DATA_FILES = (*_FILES, ".csv", ".parquet", ".arrow")
KEYS = ("split", *Keys.__dataclass_fields__)
"""What `load` can be told of how a data set calls its parts."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a data set comes from, and how to read it."""

    about: str
    version: str
    licence: str
    file: str = ""
    """In this package; empty where it doesn't ship."""
    hub: str = ""
    """Hugging Face id."""
    split: str = "test"
    keys: Keys = field(default=Keys())
    chosen: Callable[[_Rows], _Rows] | None = None
    """Takes a part of the rows."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Problems with what is known of their origin; gold answers apart."""

    name: str
    version: str
    problems: tuple[Problem, ...]
    golds: Mapping[str, str]

    def problem(self, name: str) -> Problem:
        """The problem with this id; its common beginning may be left out.

        Raises:
            ProblemError: there is none, or several end so.
        """
        ids = [problem.id for problem in self.problems]
        found = [i for i in ids if i == name] or [i for i in ids if i.endswith("-" + name)]
        if len(found) == 1:
            return self.problems[ids.index(found[0])]
        if found:
            raise ProblemError(f"{self.name}: {name!r} may be {found[0]} or {found[1]}. Say which.")
        raise ProblemError(
            f"{self.name}: there is no problem {name!r}{near(name, ids)}. "
            f"`tmas problems {self.name}` lists all {len(ids)}."
        )


def text_only_mathematics(rows: _Rows, *, count: int = 100, seed: int = 0) -> _Rows:
    """Give a seeded sample of the mathematics problems without a picture, in order."""
    fit = [r for r in rows if r.values.get("category") == "Math" and not r.values.get("image")]
    fit.sort(key=lambda row: str(row.values.get("id")))
    places = sorted(random.Random(seed).sample(range(len(fit)), min(count, len(fit))))
    return [fit[place] for place in places]


_CONTEST = "of the contest; not shipped"
SOURCES: dict[str, Source] = {
    "gsm8k": Source(
        "Grade-school word problems: the first 200 of the test set",
        "openai/grade-school-math@3101c7d, first 200 of test",
        "MIT",
        file="gsm8k.jsonl",
    ),
    "imo-answerbench": Source(
        "IMO-AnswerBench v2: 400 olympiad problems with short answers",
        "v2, google-deepmind/superhuman@a02069e, 2 rows repaired",
        "CC BY 4.0",
        file="imo_answerbench_v2.jsonl",
    ),
    "aime24": Source(
        "AIME 2024, I and II", "HuggingFaceH4/aime_2024", _CONTEST,
        hub="HuggingFaceH4/aime_2024", split="train", keys=Keys("id", "problem"),
    ),
    "aime25": Source(
        "AIME 2025, I and II", "math-ai/aime25", _CONTEST,
        hub="math-ai/aime25", keys=Keys("id", "problem"),
    ),
    "hmmt-feb-2025": Source(
        "HMMT February 2025", "MathArena/hmmt_feb_2025", _CONTEST,
        hub="MathArena/hmmt_feb_2025", split="train", keys=Keys("problem_idx", "problem"),
    ),
    "math500": Source(
        "MATH-500", "HuggingFaceH4/MATH-500", "of AoPS and contests; not shipped",
        hub="HuggingFaceH4/MATH-500", keys=Keys("unique_id", "problem"),
    ),
    "hle-math": Source(
        "Humanity's Last Exam: a seeded 100 of its text-only mathematics",
        "cais/hle, category Math, no image, seed 0", "its authors ask not to republish it",
        hub="cais/hle", keys=Keys("id"), chosen=text_only_mathematics,
    ),
}  # fmt: skip
"""The data sets that have a name."""


def load(name: str, *, path: str | None = None, **changes: Any) -> Dataset:
    """Load a data set.

    Args:
        name: a name of `SOURCES`, a JSONL file, or a Hugging Face id (`owner/name`).
        path: where a named one is instead: a JSONL file, a folder, or another id.
        changes: `split`, and any field of `Keys`, where the rows call them otherwise.

    Raises:
        ProblemError: it isn't known, can't be read, or one of its rows can't be used.
        MissingExtra: it needs the package `datasets`.
    """
    source = SOURCES.get(name) or _unnamed(name)
    _refuse_unused(name, source, path, changes.get("split"))
    given = {key: value for key, value in changes.items() if value is not None}
    split, keys = given.pop("split", source.split), replace(source.keys, **given)
    rows = list(_rows(source, path, split, name))
    if source.chosen:
        rows = source.chosen(rows)
    version = source.version if not path else f"{source.version} (from {path})"
    found = read(rows, keys, name=Path(name).stem)
    return Dataset(name, version, found.problems, found.golds)


def _unnamed(name: str) -> Source:
    """A file, a folder or a Hugging Face id; what is none of them is a misspelt name."""
    if Path(name).is_file():
        return Source("", name, "", hub=name)
    if Path(name).is_dir():
        _refuse_empty(name)
        return Source("", name, "", hub=name, keys=Keys(None))
    if name.endswith(_FILES):
        raise ProblemError(f"{name}: there is no such file. Check the path.")
    if _is_hub_id(name):
        return Source("", name, "", hub=name, keys=Keys(None))
    raise ProblemError(
        f"problems: there is no data set {name!r}{near(name, SOURCES)}. The names are "
        f"{', '.join(SOURCES)}; or give a JSONL file, or a Hugging Face id (owner/name)."
    )


def _refuse_unused(name: str, source: Source, path: str | None, split: str | None) -> None:
    """Refuse what would change nothing, and a path to nothing."""
    if path is not None and name not in SOURCES and Path(name).exists():
        raise ProblemError(f"--from: {name} is a file or folder itself. Leave it out.")
    if path is not None and Path(path).is_dir():
        _refuse_empty(path)
    elif path is not None and not Path(path).is_file() and not _is_hub_id(path):
        raise ProblemError(f"--from: there is no file or folder {path}. Check the path.")
    where = path or (_DATA / source.file if source.file else source.hub)
    if split is not None and Path(where).is_file():
        raise ProblemError(
            f"--split: {path or name} is a plain file and has no splits. Leave it out."
        )


def _refuse_empty(folder: str) -> None:
    """Refuse a folder in which no file looks like data; they may stand one level below."""
    found = (file for glob in ("*", "*/*") for file in Path(folder).glob(glob))
    if not any(file.suffix in _DATA_FILES for file in found):
        raise ProblemError(
            f"problems: {folder} is a folder without data ({', '.join(_DATA_FILES)}). "
            "Give a JSONL file, a data set's name, or a Hugging Face id."
        )


def _is_hub_id(name: str) -> bool:
    """Whether it looks like `owner/name`, and not like a path."""
    owner, slash, rest = name.partition("/")
    odd = not owner or not rest or "/" in rest or owner in (".", "..", "~")
    return bool(slash) and not odd and not name.endswith(_FILES)


def _rows(source: Source, path: str | None, split: str, name: str) -> Iterator[Placed]:
    if path is None and source.file:
        return jsonl(_DATA / source.file)
    where = path or source.hub
    return jsonl(Path(where)) if Path(where).is_file() else _of_hub(where, split, name)


def _of_hub(where: str, split: str, name: str) -> Iterator[Placed]:
    """Read a data set of the hub, of its cache, or of a folder."""
    try:
        from datasets import load_dataset  # noqa: PLC0415  (an extra, and it takes seconds)
    except ImportError as error:
        what = "folder" if Path(where).is_dir() else "data set"
        raise MissingExtra(
            f"datasets isn't installed, and the {what} {name if what == 'data set' else where!r} "
            'needs it. Run: pip install "tmas-graph[data]", or give a JSONL file.'
        ) from error
    try:
        rows = load_dataset(where, split=split)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ProblemError(
            f"{name}: {where} (split {split}) can't be loaded: {reason:.200} "
            "Check the id, the split and your access, or give a copy of it with --from PATH."
        ) from error
    for number, row in enumerate(rows, start=1):
        yield Placed(f"{where}[{split}]:{number}", row)
