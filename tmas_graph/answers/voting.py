"""Groups the answers of a run for its vote: bounded in time, and never the loss of a run.

Where the grading process can't be started, or the time is spent, answers that aren't plainly the
same stay apart: their votes then count for less, which is the safe side.
"""

import logging
import time
from collections.abc import Sequence
from functools import partial

from tmas_graph.answers.equivalence import equal, plainly_differ, same_text
from tmas_graph.answers.select import Classes, Equal, grouped
from tmas_graph.answers.verdict import Verdict, incorrect
from tmas_graph.errors import StorageError

SECONDS = 30.0
"""How long the answers of one iteration may take; plain numbers take microseconds each."""
PAIR_SECONDS = 3.0

_DIFFERENT = incorrect("different numbers")
_log = logging.getLogger(__name__)


def group(answers: Sequence[str | None], known: Classes = ()) -> Classes:
    """Name the class of each answer; the first ones are `known`. May wait for a process."""
    return grouped(answers, bounded(partial(equal, timeout=PAIR_SECONDS), SECONDS), known)


def bounded(compare: Equal, seconds: float) -> Equal:
    """Give `compare` until `seconds` are over or it can't work; then, by text alone."""
    end: float | None = time.monotonic() + seconds

    def ask(first: str, second: str) -> Verdict:
        nonlocal end
        if plainly_differ(first, second):
            return _DIFFERENT
        if end is not None and time.monotonic() > end:
            _log.warning("answers: grouping took over %g s; the rest goes by its text.", seconds)
            end = None
        if end is not None:
            try:
                return compare(first, second)
            except StorageError as error:
                _log.warning("%s Until then answers are grouped by their text.", error)
                end = None
        return same_text(first, second)

    return ask
