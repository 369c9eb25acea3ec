"""Settings from where people keep them: preset, tmas.toml, environment, command line.

Later ones win: defaults, then the preset, the file, the environment, the command line.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tmas_graph.errors import SettingsError
from tmas_graph.settings import ALL_ROLES, Settings, near, preset_values

FILE = "tmas.toml"
PREFIX = "TMAS_"
RESERVED = ("TMAS_DATA", "TMAS_HOME", "TMAS_PRESET", "TMAS_SETTINGS")
"""Variables with the prefix that are no settings."""
_WHOLE = ("extra_body", "prices")
"""Settings that are mappings whose keys aren't ours: they may hold dots."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and where each value came from."""

    settings: Settings
    preset: str
    origins: Mapping[str, str]
    """Dotted name of each setting to `default`, `preset …`, a file, a variable or an option."""


def load_settings(
    file: str | Path | None = None, *, preset: str | None = None, **changes: Any
) -> Settings:
    """The settings in force here: of tmas.toml, the environment and `changes`, later ones first.

    Args:
        file: instead of ./tmas.toml.
        preset: instead of the one that file or environment name.
        changes: any field of Settings.

    Raises:
        SettingsError: a setting doesn't exist, is out of range, or the file can't be read.
    """
    return load(file, preset=preset, changes=changes).settings


def load(
    file: str | Path | None = None,
    *,
    preset: str | None = None,
    changes: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """As `load_settings`, with where each value came from; `changes` may have dotted names."""
    environ = os.environ if environ is None else environ
    path, named = _file(file, environ)
    layers = [
        (str(path), flat(_read(path, named))),
        ("environment", _environment(environ)),
        ("command line", flat(changes or {})),
    ]
    preset = preset or environ.get("TMAS_PRESET") or layers[0][1].pop("preset", None)
    layers[0][1].pop("preset", None)
    if preset is None:
        chosen = any({"base_url", "local_model"} & set(values) for _, values in layers)
        preset = "fast" if chosen else "local"
    layers.insert(0, (f"preset {preset}", flat(preset_values(preset))))
    merged: dict[str, Any] = {}
    origins = dict.fromkeys(_names(Settings), "default")
    for origin, values in layers:
        merged.update(values)
        origins.update({n: variable(n) if origin == "environment" else origin for n in values})
    return Loaded(Settings.checked(nested(merged), origins), preset, origins)


def parse_assignment(text: str, where: str = "--set") -> tuple[str, Any]:
    """`name=value` of an option `--set`, the value as TOML or, failing that, as text.

    Raises:
        SettingsError: there is no `=`.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise SettingsError(f"{where}: {text!r} has no value. Write name=value.")
    return name.strip(), _value(name.strip(), value.strip(), where)


def parse_brackets(text: str) -> dict[str, Any]:
    """`name=value, name=value` of a method's name; commas within a value's brackets are its own.

    Raises:
        SettingsError: a part has no `=`, or a name stands twice.
    """
    parts, depth = [""], 0
    for sign in text:
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    found = dict[str, Any]()
    for part in parts:
        name, value = parse_assignment(part, "method")
        if name in found:
            raise SettingsError(f"method: {name} stands twice in [{text}]. Set it once.")
        found[name] = value
    return found


def adjusted(settings: Settings, changes: Mapping[str, Any], origin: str) -> Settings:
    """`settings`, keys included, with `changes`, whose names may be dotted.

    Raises:
        SettingsError: one doesn't exist or is out of range; the message says it is of `origin`.
    """
    values = {**flat(plain(settings)), **flat(changes)}
    return type(settings).checked(nested(values), dict.fromkeys(flat(changes), origin))


def plain(model: BaseModel) -> dict[str, Any]:
    """The values of `model` as mappings, keys included, which a dump leaves out."""
    return {
        name: plain(value) if isinstance(value := getattr(model, name), BaseModel) else value
        for name in type(model).model_fields
    }


def _value(name: str, text: str, where: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        if text[:1] not in ("{", "["):
            return text
        raise SettingsError(
            f"{where}: {name}: {text!r} is no TOML ({error}). Write it like {{top_k = 20}}."
        ) from None


def _file(file: str | Path | None, environ: Mapping[str, str]) -> tuple[Path, bool]:
    named = file or environ.get("TMAS_SETTINGS")
    return (Path(named), True) if named else (Path(FILE), False)


def _read(path: Path, must_exist: bool) -> dict[str, Any]:
    if not must_exist and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{path}: can't be read ({error.strerror}). Give another file."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: is no valid TOML: {error}. Mend the file.") from None


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    known = {variable(name): name for name in _names(Settings)}
    values: dict[str, Any] = {}
    for given, text in environ.items():
        if not given.startswith(PREFIX) or given in RESERVED:
            continue
        if given not in known:
            raise SettingsError(
                f"environment: there is no setting for {given}"
                f"{near(given, [*known, *RESERVED])}. `tmas settings` lists them all."
            )
        name = known[given]
        values[name] = _json(given, text) if name.endswith(_WHOLE) else text
    return values


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise SettingsError(f"{name}: {text!r:.200} is no JSON. Give an object.") from None
    except RecursionError:
        raise SettingsError(
            f"{name}: {text!r:.40}… is nested too deep. Give an object with few levels."
        ) from None


def variable(name: str) -> str:
    """The environment variable of the setting with this dotted name."""
    return PREFIX + name.upper().replace(".", "__")


def _names(model: type[BaseModel], prefix: str = "") -> list[str]:
    """Dotted names of all settings, those of each role included."""
    names = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names += _names(kind, f"{prefix}{name}.")
        else:
            names.append(prefix + name)
    return names


def with_keys(settings: Settings, keys: Settings) -> Settings:
    """`settings` with the keys that are in force here, each for its own server alone."""
    ours = keys.base_url in (None, settings.base_url)
    roles: dict[str, Any] = {
        role: getattr(settings.roles, role).model_copy(
            update={"api_key": getattr(keys.roles, role).api_key}
        )
        for role in ALL_ROLES
        if keys.endpoint(role).base_url in (None, settings.endpoint(role).base_url)
    }
    update: dict[str, Any] = {"roles": settings.roles.model_copy(update=roles)}
    if keys.embeddings.base_url in (None, settings.embeddings.base_url):
        key = {"api_key": keys.embeddings.api_key}
        update["embeddings"] = settings.embeddings.model_copy(update=key)
    if ours:
        update["api_key"] = keys.api_key
    return settings.model_copy(update=update)


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by dotted names; extra_body and prices stay whole."""
    names: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and not name.endswith(_WHOLE):
            names.update(flat(value, f"{prefix}{name}."))
        else:
            names[prefix + name] = value
    return names


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted names as mappings in mappings.

    Raises:
        SettingsError: a name has parts below one that holds a value.
    """
    whole: dict[str, Any] = {}
    for name, value in values.items():
        *path, last = name.split(".")
        place = whole
        for part in path:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise SettingsError(
                    f"settings: {part!r} has no parts, but {name!r} was given. Change it."
                )
        place[last] = value
    return whole
