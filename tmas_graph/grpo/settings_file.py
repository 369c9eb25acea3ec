"""Reads a run's settings from TOML, with what the command line changes; writes them resolved."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.rewards import RewardSettings
from tmas_graph.grpo.settings import RunSettings

Values = dict[str, Any]


def load(file: Path, changes: Sequence[str] = ()) -> RunSettings:
    """Give the settings in `file`; each change is `loss.clip_high=0.3`, and wins.

    Paths in the file are read as they stand: from the folder the trainer runs in. "none" stands
    for nothing, where a setting can be that.

    Raises:
        SettingsError: the file can't be read, or says something that is no setting.
    """
    values = _toml(file)
    for change in changes:
        _set(values, change)
    return resolved(values, str(file))


def resolved(values: Mapping[str, Any], where: str) -> RunSettings:
    """Give the settings that `values` say; `where` they are from goes into errors."""
    changed = _with_preset(_nothing(values, RunSettings))
    try:
        return RunSettings.model_validate(changed)
    except ValidationError as error:
        raise SettingsError(f"{where}: {_told(error)}") from error


def dump(settings: RunSettings) -> str:
    """Give all settings as TOML that `load` reads as the same ones."""
    values = settings.model_dump(mode="json", exclude={"step": {"loss", "temperature"}})
    return "\n".join(_lines(values, "")) + "\n"


def _toml(file: Path) -> Values:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{file}: can't be read ({error.strerror}). Give a file of settings, e.g. "
            "configs/train-qwen3-4b-1gpu-lora.toml."
        ) from error
    except ValueError as error:
        raise SettingsError(f"{file}: isn't TOML ({error}). Mend it.") from error


def _set(values: Values, change: str) -> None:
    name, equals, text = change.partition("=")
    *tables, last = name.strip().split(".")
    if not equals or not last:
        raise SettingsError(f"--set: {change!r} has no form NAME=VALUE. E.g. loss.clip_high=0.3.")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise SettingsError(f"--set: {name!r}: {table!r} is no table. Set it as a whole.")
    try:
        values[last] = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        values[last] = text  # a text needs no quotes


def _with_preset(values: Values) -> Values:
    """What the preset says, below what is said itself."""
    if values.get("preset") != "vanilla":
        return values
    own = values.get("rewards", {})
    if not isinstance(own, dict):
        return values
    vanilla = RewardSettings.vanilla().model_dump(exclude_unset=True)
    return {**values, "rewards": {**vanilla, **own}}


def _nothing(values: Mapping[str, Any], kind: type[BaseModel]) -> Values:
    """With None for "none" (TOML has no word for it), where a field takes it."""
    changed = dict(values)
    for name, field in kind.model_fields.items():
        kinds = [field.annotation, *get_args(field.annotation)]
        if name in changed and changed[name] == "none" and type(None) in kinds:
            changed[name] = None
        for one in kinds:
            inner = isinstance(one, type) and issubclass(one, BaseModel)
            if inner and isinstance(changed.get(name), dict):
                changed[name] = _nothing(changed[name], one)
    return changed


def _told(error: ValidationError) -> str:
    """The first thing that is wrong, with the value seen and what to do."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = _names(first["loc"][:-1])
        return f"{name}: there is no such setting{_near(str(first['loc'][-1]), known)}"
    if first["type"] == "missing":
        return f"{name}: it is missing. Give it in the file or by --set {name}=…."
    if first["type"] == "value_error":
        return f"{name}: {first['ctx']['error']}." if name else f"{first['ctx']['error']}."
    what = first["msg"].removeprefix("Input should be ")
    return f"{name}: {first['input']!r:.80} was given. It must be {what}."


def _names(tables: Iterable[object]) -> list[str]:
    kind: type[BaseModel] = RunSettings
    for table in tables:
        field = kind.model_fields.get(str(table))
        if field is None:
            continue  # pydantic names the member of a union, too
        for one in (field.annotation, *get_args(field.annotation)):
            if isinstance(one, type) and issubclass(one, BaseModel):
                kind = one
    return list(kind.model_fields)


def _near(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f'. Did you mean "{close[0]}"?' if close else f". There are {', '.join(known)}."


def _lines(values: Mapping[str, Any], table: str) -> list[str]:
    plain = {name: value for name, value in values.items() if not isinstance(value, dict)}
    lines = [f"[{table}]"] if table else []
    lines += [f"{_key(name)} = {_value(value)}" for name, value in plain.items()]
    for name, value in values.items():
        if isinstance(value, dict):
            lines += ["", *_lines(value, f"{table}.{_key(name)}" if table else _key(name))]
    return lines


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").isalnum() else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # Numbers, truth values and texts are written alike in JSON and TOML.
    return json.dumps("none" if value is None else value, ensure_ascii=False)
