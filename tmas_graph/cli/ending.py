"""How the command line is ended from outside: SIGTERM is taken for Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143
"""Exit statuses: 128 and the signal's number, as shells have it."""


@contextmanager
def terminable() -> Iterator[None]:
    """Tidy up at SIGTERM, which `docker stop`, `timeout` and SLURM send, as at Ctrl-C.

    Only the exit status tells the two apart.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    told: list[int] = []

    def on_sigterm(number: int, frame: FrameType | None) -> None:
        told.append(number)
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(on_ctrl_c):  # a shell lets what runs in the background ignore Ctrl-C
            raise KeyboardInterrupt
        on_ctrl_c(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, on_sigterm)
    try:
        yield
    except SystemExit as end:
        if told and end.code == INTERRUPTED:
            raise SystemExit(TERMINATED) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
