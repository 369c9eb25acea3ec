"""Which problems of a data set a run is about."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from tmas_graph.errors import ProblemError, SettingsError
from tmas_graph.evaluation.datasets import Dataset, load
from tmas_graph.state import digest


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """Where the problems come from, so that a resumed run finds them again."""

    name: str
    """A data set's name, the whole path of a file, or a Hugging Face id."""
    path: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    """What its fields are called, and `split`; what isn't named is as usual."""

    def load(self) -> Dataset:
        """Load all of it.

        Raises:
            ProblemError: it can't be found or used.
            MissingExtra: it needs the package `datasets`.
        """
        return load(self.name, path=self.path, **self.keys)


def source_of(name: str, path: str | None = None, **keys: str | None) -> ProblemSource:
    """The source that a user names; a file by its whole path, wherever the run is resumed."""
    given = {key: value for key, value in keys.items() if value is not None}
    if Path(name).exists():
        name = str(Path(name).resolve())
    if path and Path(path).exists():
        path = str(Path(path).resolve())
    return ProblemSource(name, path, given)


def chosen(found: Dataset, *, limit: int | None = None, ids: Collection[str] = ()) -> list[str]:
    """The ids of the first `limit` problems, and of `ids`, in the order of the data set.

    With neither, all of them.

    Raises:
        ProblemError: an id isn't in it.
    """
    every = [problem.id for problem in found.problems]
    if limit is None and not ids:
        return every
    named = {found.problem(name).id for name in ids} | set(every[: limit or 0])
    return [name for name in every if name in named]


def in_shard(found: Dataset, problems: Collection[str], shard: str) -> list[str]:
    """Those of `problems` that belong to `shard`, `2/8` say.

    A problem's place in the whole data set decides, so that it stays in its shard whatever else
    is asked for.

    Raises:
        SettingsError: `shard` isn't I/N with 1 ≤ I ≤ N.
    """
    first, slash, second = shard.partition("/")
    numbers = first.isascii() and second.isascii() and first.isdigit() and second.isdigit()
    index, count = (int(first[:9]), int(second[:9])) if slash and numbers else (0, 0)
    if not 1 <= index <= count:
        raise SettingsError(f"--shard: {shard!r} isn't I/N. Write, say, 2/8 for the second of 8.")
    wanted = set(problems)
    every = (problem.id for problem in found.problems)
    return [n for place, n in enumerate(every) if place % count == index - 1 and n in wanted]


def checksum(found: Dataset, problems: Collection[str]) -> str:
    """A hash of the texts and gold answers of `problems`.

    Raises:
        ProblemError: one of them isn't there.
    """
    by_id = {problem.id: problem for problem in found.problems}
    if missing := [name for name in problems if name not in by_id]:
        raise ProblemError(
            f"{found.name}: {missing[0]!r} isn't in it any more, and the run is about it. "
            "Restore the data set."
        )
    texts = ((name, by_id[name].question, found.golds.get(name, "")) for name in problems)
    return digest(*(part for text in texts for part in text))[:16]
