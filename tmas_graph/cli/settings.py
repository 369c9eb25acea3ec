"""`tmas settings`: what is in force here, and where each value came from."""

import json

from pydantic import BaseModel

from tmas_graph.cli.options import Assignments, Config, Json, Preset, changes_of


def settings(
    preset: Preset = None,
    assignments: Assignments = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Print every setting with its origin; keys are never printed."""
    from rich.console import Console
    from rich.table import Table

    from tmas_graph.cli.plain import words
    from tmas_graph.configuration import load

    loaded = load(config, preset=preset, changes=changes_of(assignments))
    rows = [(name, shown(loaded.settings, name), loaded.origins[name]) for name in loaded.origins]
    if as_json:
        plain = {name: {"value": value, "from": origin} for name, value, origin in rows}
        print(json.dumps({"preset": loaded.preset, "settings": plain}, indent=2))  # noqa: T201
        return
    table = Table(title=f"Settings (preset {loaded.preset})")
    for column in ("setting", "value", "from"):
        table.add_column(column, overflow="fold")
    for name, value, origin in rows:
        if name.startswith("roles.") and origin == "default":
            continue
        style = "dim" if origin == "default" else ""
        value_text = "–" if value is None else str(value)
        table.add_row(*(words(cell, style) for cell in (name, value_text, origin)))
    Console().print(table)
    Console().print(
        "A role's own settings are roles.ROLE.NAME; those that aren't set are as for all roles.",
        style="dim",
    )


def shown(settings: object, name: str) -> object:
    """The value of the setting with this dotted name; of a key only whether it is set."""
    value = settings
    for part in name.split("."):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    if name.endswith("api_key"):
        return "(set)" if value else None
    if isinstance(value, dict):
        return {k: v.model_dump() if isinstance(v, BaseModel) else v for k, v in value.items()}
    return list(value) if isinstance(value, tuple) else value  # as it is typed
