"""What a worker is told, and what it tells of its parts of a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.run_folder import RunLimits
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.models.pool import Load
from tmas_graph.state import Problem
from tmas_graph.usage import Usage


@dataclass(frozen=True, slots=True)
class Brief:
    """What a worker must know; it holds keys, and is never written to a file."""

    folder: str
    """Of the run."""
    plan: str
    """What `run.json` says: a folder of the same name on another disk is told by it."""
    entrants: Mapping[str, Entrant]
    """With the share of each limit that is this worker's."""
    models: Mapping[str, Mapping[str, str]]
    limits: RunLimits
    """Of the whole run."""
    seconds: float
    """For how long the run has been going on."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The problems that the jobs are about, and what is known of their answers."""

    problems: Mapping[str, Problem]
    golds: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that came to its end."""

    job: Job
    rows: tuple[Row, ...]
    """None: the run's budget broke it off."""
    error: Exception | None = None
    """Why it failed."""


@dataclass(frozen=True, slots=True)
class Report:
    """What happened since the last report."""

    load: Load
    spent: Mapping[Job, Usage]
    """Since the last report."""
    found: Mapping[Job, Usage]
    """What the database holds of jobs that it has just got, whoever spent it."""
    ended: tuple[Ended, ...] = ()
    released: tuple[str, ...] = ()
    """Parts that it has left."""
    wants: bool = False
    """It has room for another part."""
    error: Exception | None = None
    """Why it can't go on, for a reason that concerns every problem."""
