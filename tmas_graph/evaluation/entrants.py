"""Methods as they take part in a run: `tmas`, or `tmas[epsilon=0.5]` with settings of its own."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

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


def labels_in(texts: Iterable[str]) -> list[str]:
    """The labels in options such as `a,b[x=1,y=2]`: split at the commas outside of brackets."""
    found = [re.sub(r"\s+", "", part) for text in texts for part in _COMMAS.split(text)]
    return [label for label in found if label]


def entrants(labels: Iterable[str], settings: Settings) -> tuple[Entrant, ...]:
    """The methods that `labels` name, with `settings` and what each sets itself.

    Raises:
        SettingsError: a method doesn't exist or is named twice, or a setting is wrong.
    """
    found = tuple(Entrant(label, find(label).applied(settings)) for label in labels)
    twice = [label for label, count in Counter(e.label for e in found).items() if count > 1]
    if twice:
        raise SettingsError(f"--method: {twice[0]} is named twice. Name each method once.")
    if not found:
        raise SettingsError(f"--method: no method is named. Name some of {', '.join(METHODS)}.")
    return found
