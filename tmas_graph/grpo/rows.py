"""Reads the parquet of prompts that a policy is trained on, and says what is wrong with it.

The columns are those that were published and that verl reads: `prompt` (chat messages),
`data_source`, `reward_model` (`ground_truth`, `style`), `extra_info` and `_source`. Of
`extra_info` each field may be missing, as in files of other makers; fields that aren't read here
may stand beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypedDict, get_args

from tmas_graph.errors import MissingExtra, StorageError

Source = Literal["normal", "experience", "guideline"]
SOURCES: tuple[Source, ...] = get_args(Source)
"""What a prompt holds: the problem alone, with an experience bank, with a guideline bank."""
COLUMNS = ("prompt", "data_source", "reward_model", "extra_info", "_source")
_AT_ONCE = 256
"""Rows that are decoded together."""


class Message(TypedDict):
    """One chat message."""

    role: str
    content: str


Prompt = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy that a guideline prompt lists."""

    name: str
    essence: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt to sample from, with all that its reward depends on."""

    source: Source
    prompt: Prompt
    ground_truth: str
    data_source: str
    index: int
    """Names the row within its file; its place, where the file gives it no name."""
    problem: str = ""
    """Id of the problem; rows of one problem share it."""
    question: str = ""
    """The text of the problem; empty: not known."""
    problem_prompt: Prompt = ()
    """The prompt of the same problem without a bank, for paired groups; empty: not known."""
    p0: float | None = None
    """Pass rate of the problem without a bank, in [0, 1]; None is "unknown", which is not 0."""
    experience: tuple[str, ...] = ()
    """The items of the experience bank that the prompt shows."""
    strategies: tuple[Strategy, ...] = ()
    """The strategies of the guideline bank that the prompt lists."""


def read(file: Path) -> list[Row]:
    """All rows of `file`, in order.

    Raises:
        StorageError: it can't be read, lacks a column, or a row of it can't be used.
        MissingExtra: pyarrow isn't installed.
    """
    return list(stream(file))


def stream(file: Path) -> Iterator[Row]:
    """The rows of `file`, of which few are in memory at once; raises what `read` raises."""
    for place, values in enumerate(_records(file)):
        yield _Reading(values, f"{file}: row {place}").row(place)


def _records(file: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of `file` as plain values."""
    parquet, failures = _pyarrow()
    try:
        with parquet.ParquetFile(file) as opened:
            missing = [name for name in COLUMNS if name not in opened.schema_arrow.names]
            if not missing:
                for batch in opened.iter_batches(_AT_ONCE, columns=list(COLUMNS)):
                    yield from batch.to_pylist()
                return
            known = ", ".join(opened.schema_arrow.names)
    except failures as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise StorageError(
            f"{file}: can't be read as parquet ({reason:.200}). Give a file that "
            "`tmas train data` has written."
        ) from error
    raise StorageError(
        f'{file}: no column "{missing[0]}" (columns: {known:.200}). '
        "Build it with `tmas train data`."
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """The values of one row, and where it stands."""

    values: Mapping[str, Any]
    where: str

    def row(self, place: int) -> Row:
        source = self._source()
        extra = self._struct("extra_info")
        index = extra.get("index")
        return Row(
            source=source,
            prompt=self._prompt(self.values["prompt"], "prompt"),
            ground_truth=self._ground_truth(),
            data_source=self._text(self.values["data_source"], "data_source"),
            index=index if isinstance(index, int) else place,
            problem=str(extra.get("problem") or ""),
            question=str(extra.get("question") or ""),
            problem_prompt=self._maybe_prompt(extra.get("problem_prompt")),
            p0=self._share(extra.get("p0")),
            experience=self._texts(extra.get("experience")),
            strategies=self._strategies(extra.get("strategies"), source),
        )

    def _source(self) -> Source:
        value = self.values["_source"]
        if value not in SOURCES:
            self._wrong("_source", value, f"one of {', '.join(SOURCES)}")
        source: Source = value
        return source

    def _prompt(self, value: Any, name: str) -> Prompt:
        if not isinstance(value, list) or not value:
            self._wrong(name, value, "a list of chat messages")
        return tuple(self._message(one, name) for one in value)

    def _message(self, value: Any, name: str) -> Message:
        known = isinstance(value, Mapping) and {"role", "content"} <= value.keys()
        if not known or not isinstance(value["role"], str) or not value["role"]:
            self._wrong(name, value, "messages with a role and a content")
        if not isinstance(value["content"], str) or not value["content"].strip():
            self._wrong(name, value, "messages whose content isn't empty")
        return {"role": value["role"], "content": value["content"]}

    def _maybe_prompt(self, value: Any) -> Prompt:
        return self._prompt(value, "extra_info.problem_prompt") if value else ()

    def _ground_truth(self) -> str:
        value = self._struct("reward_model").get("ground_truth")
        return self._text(value, "reward_model.ground_truth")

    def _share(self, value: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self._wrong("extra_info.p0", value, "a number from 0 to 1, or null")
        return float(value)

    def _texts(self, value: Any) -> tuple[str, ...]:
        items = self._list(value, "extra_info.experience")
        return tuple(self._text(_of(one, "text"), "extra_info.experience") for one in items)

    def _strategies(self, value: Any, source: Source) -> tuple[Strategy, ...]:
        items = self._list(value, "extra_info.strategies")
        if source == "guideline" and not items:
            # Nothing would be novel or not: the reward of its mode could not be told.
            self._wrong("extra_info.strategies", value, "the strategies that the prompt lists")
        return tuple(
            Strategy(
                self._text(_of(one, "name"), "extra_info.strategies"),
                str(_of(one, "essence") or "") if isinstance(one, Mapping) else "",
            )
            for one in items
        )

    def _struct(self, name: str) -> Mapping[str, Any]:
        value = self.values[name]
        if isinstance(value, Mapping):
            return value
        self._wrong(name, value, "a struct")

    def _list(self, value: Any, name: str) -> Sequence[Any]:
        if value is None or isinstance(value, list):
            return value or []
        self._wrong(name, value, "a list")

    def _text(self, value: Any, name: str) -> str:
        if isinstance(value, str) and value.strip():
            return value
        self._wrong(name, value, "a text that isn't empty")

    def _wrong(self, name: str, value: Any, wanted: str) -> NoReturn:
        raise StorageError(
            f'{self.where}: "{name}" is {value!r:.80}; it must be {wanted}. '
            "Mend the row, or build the file anew with `tmas train data`."
        )


def _of(value: Any, name: str) -> Any:
    """The field `name` of a struct; a plain text is itself."""
    return value.get(name) if isinstance(value, Mapping) else value


def _pyarrow() -> tuple[Any, tuple[type[Exception], ...]]:
    """Its reader, and what it raises."""
    try:
        import pyarrow  # noqa: PLC0415  (an extra, and it takes a while)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(
            'pyarrow isn\'t installed, and parquet needs it. Run: pip install "tmas-graph[train]"'
        ) from error
    return pyarrow.parquet, (OSError, pyarrow.ArrowException)
