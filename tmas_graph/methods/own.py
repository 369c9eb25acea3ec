"""Methods that the table doesn't have: one's own, by module, and those that packages bring.

A package brings one as an entry point of the group `tmas_graph.methods`.
"""

import os
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from tmas_graph.errors import SettingsError

GROUP = "tmas_graph.methods"


def imported(name: str) -> object:
    """What `module:attribute` names, in an installed module or one of the working directory.

    Raises:
        SettingsError: there is no such module or attribute, or importing it fails.
    """
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise SettingsError(f"method: {name!r} isn't MODULE:NAME. Write, say, my_module:my_method.")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)  # at its end: a file called numpy.py there must hide nothing
    try:
        found: object = import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise SettingsError(
                f"method: there is no module {module!r}, neither installed nor in {folder}. "
                "Go to the folder that it is in, or install it."
            ) from None
        raise _broken(module, error) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            where = getattr(sys.modules[module], "__file__", None) or "built in"
            raise SettingsError(
                f"method: there is no {attribute!r} in {module} ({where}). Check the name."
            )
        found = getattr(found, part)
    return found


@cache
def brought() -> dict[str, EntryPoint]:
    """By name, what installed packages bring."""
    return {each.name: each for each in entry_points(group=GROUP)}


def loaded(name: str) -> object:
    """What a package brings by this name.

    Raises:
        SettingsError: importing it fails.
    """
    try:
        found: object = brought()[name].load()
    except Exception as error:
        raise _broken(f"{name} ({brought()[name].value})", error) from error
    return found


def _broken(what: str, error: BaseException) -> SettingsError:
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return SettingsError(f"method: {what} can't be imported ({reason:.200}). Mend it.")
