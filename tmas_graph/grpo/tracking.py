"""Trackers beside metrics.jsonl: tensorboard, wandb and trackio, each an extra of its own.

A run begins only with all that `log.to` names. One that fails later is left out from then on, and
a warning says so: no picture is worth a run. Steps that a resumed run makes again stand twice at
wandb and trackio, which forget nothing; tensorboard hides the first ones.
"""

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from tmas_graph.errors import MissingExtra, SettingsError, StorageError
from tmas_graph.grpo.operation import TrackerName
from tmas_graph.grpo.settings import RunSettings

ID = "tracker_id"
"""The file in a run's folder by whose content trackers know a resumed run again."""
_IMPORTS: Mapping[TrackerName, str] = {
    "tensorboard": "torch.utils.tensorboard",
    "wandb": "wandb",
    "trackio": "trackio",
}
_LOGGER = logging.getLogger(__name__)


class Tracker(Protocol):
    """Another place that numbers go to."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Take numbers of a step; those of one step may come in several calls."""
        ...

    def forget_after(self, step: int) -> None:
        """Prepare for steps after `step` that are made again."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


def check(settings: RunSettings) -> None:
    """See that all trackers are installed, before anything is begun.

    Raises:
        MissingExtra: one isn't.
    """
    for name in settings.log.to:
        _module(name)


def trackers_of(settings: RunSettings) -> list[Tracker]:
    """Open the trackers that `log.to` names.

    Raises:
        MissingExtra: one isn't installed.
        SettingsError: one can't begin.
    """
    return [_opened(name, settings) for name in settings.log.to]


def _opened(name: TrackerName, settings: RunSettings) -> Tracker:
    try:
        return _Guarded(name, _KINDS[name](_module(name), settings))
    except (MissingExtra, StorageError):
        raise
    except Exception as error:  # each has exceptions of its own
        raise SettingsError(
            f"log.to: {name} can't begin ({str(error).strip() or type(error).__name__:.200}). "
            f"Set it up as its own pages say, or leave it out."
        ) from error


def _module(name: TrackerName) -> Any:
    try:
        return import_module(_IMPORTS[name])
    except ImportError as error:
        raise MissingExtra(
            f'log.to: {name} isn\'t installed. Run: pip install "tmas-graph[{name}]", or leave it '
            "out of log.to."
        ) from error


def _id_of(folder: Path) -> str:
    """Give what names the run for ever: another one in a folder of that name is another run."""
    file = folder / ID
    try:
        if not file.exists():
            file.write_text(uuid4().hex[:12], encoding="utf-8")
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise StorageError(
            f"{file}: can't be read or written ({error.strerror}). See to its folder."
        ) from error


class _TensorBoard:
    def __init__(self, module: Any, settings: RunSettings) -> None:
        self._open = module.SummaryWriter
        self._folder = str(settings.out / "tensorboard")
        self._writer = self._open(self._folder)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def forget_after(self, step: int) -> None:
        self._writer.close()
        self._writer = self._open(self._folder, purge_step=step + 1)

    def close(self) -> None:
        self._writer.close()


class _Remembering:
    """Keeps all that it was told; `_run` is the tracker's own."""

    _run: Any

    def forget_after(self, step: int) -> None:
        pass

    def close(self) -> None:
        self._run.finish()


class _Wandb(_Remembering):
    def __init__(self, module: Any, settings: RunSettings) -> None:
        self._run = module.init(
            project=settings.log.project,
            name=settings.out.name,
            id=_id_of(settings.out),
            resume="allow",
            dir=str(settings.out),
            config=settings.model_dump(mode="json"),
        )
        # Its own steps only rise: what comes after a resume would be dropped.
        self._run.define_metric("*", step_metric="step")

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log({**values, "step": step})


class _Trackio(_Remembering):
    def __init__(self, module: Any, settings: RunSettings) -> None:
        self._run = module.init(
            project=settings.log.project,
            name=f"{settings.out.name}-{_id_of(settings.out)}",  # names are all it knows runs by
            resume="allow",
            config=settings.model_dump(mode="json"),
            embed=False,
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)


_KINDS: Mapping[TrackerName, Callable[[Any, RunSettings], Tracker]] = {
    "tensorboard": _TensorBoard,
    "wandb": _Wandb,
    "trackio": _Trackio,
}


class _Guarded:
    """A tracker that is left out once it has failed."""

    def __init__(self, name: str, tracker: Tracker) -> None:
        self._name = name
        self._tracker = tracker
        self._works = True

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._try(lambda: self._tracker.log(step, values))

    def forget_after(self, step: int) -> None:
        self._try(lambda: self._tracker.forget_after(step))

    def close(self) -> None:
        self._try(self._tracker.close)

    def _try(self, what: Callable[[], None]) -> None:
        if not self._works:
            return
        try:
            what()
        except Exception as error:
            self._works = False
            _LOGGER.warning(
                "%s: failed (%s); it gets no more numbers. metrics.jsonl has all.",
                self._name,
                error,
            )
