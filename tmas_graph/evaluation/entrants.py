"""Methods as they take part in a run: `tmas`, or `tmas[epsilon=0.5]` with settings of its own."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from tmas_graph.errors import SettingsError
from tmas_graph.methods import METHODS, find
from tmas_graph.settings import Settings

_COMMAS = re.compile(r",(?![^\[]*\])")


@dataclass(frozen=True, slots=True)
class Entrant:
    """One method with the settings that hold for it."""

    label: str
    """Names it in rows and reports, as it was given: with what it sets itself, in brackets."""
    settings: Settings
    """With what the method sets."""

    @property
    def calls(self) -> int:
        """Model calls for one problem at most."""
        return find(self.label).calls(self.settings)


def labels_in(texts: Sequence[str]) -> list[str]:
    """The labels in options such as `a,b[x=1,y=2]`: split at the commas outside of brackets.

    Raises:
        SettingsError: an option names none.
    """
    parts = (re.sub(r"\s+", "", part) for text in texts for part in _COMMAS.split(text))
    found = [label for label in parts if label]
    if texts and not found:
        raise _none_named()
    return found


def entrants(labels: Iterable[str], settings: Settings) -> tuple[Entrant, ...]:
    """The methods that `labels` name, with `settings` and what each sets itself.

    Raises:
        SettingsError: a method doesn't exist or is named twice, in whatever spelling, or a setting
            is wrong.
    """
    found = tuple(Entrant(label, find(label).applied(settings)) for label in labels)
    twice = [label for label, count in Counter(e.label for e in found).items() if count > 1]
    if twice:
        raise SettingsError(f"--method: {twice[0]} is named twice. Name each method once.")
    if not found:
        raise _none_named()
    for one, other in combinations(found, 2):
        if one.settings == other.settings and find(one.label).build is find(other.label).build:
            raise SettingsError(
                f"--method: {one.label} and {other.label} are the same: their settings don't "
                "differ. Name one of them."
            )
    return found


def _none_named() -> SettingsError:
    return SettingsError(f"--method: no method is named. Name some of {', '.join(METHODS)}.")
