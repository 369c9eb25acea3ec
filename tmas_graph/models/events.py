"""Server-sent events, and JSON that may be broken."""

import json
from collections.abc import Iterator

import orjson

from tmas_graph.models.faults import Fault

_LONGEST_LINE = 64 * 2**20


class Events:
    """Splits a stream of bytes into the data of its server-sent events."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self.done = False
        """Whether the server has said that nothing more will come."""
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[object]:
        """The data, decoded from JSON, of the events that `piece` completes.

        Raises:
            Fault: an event is no JSON.
        """
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _LONGEST_LINE:
            raise Fault("malformed", f"an event of more than {_LONGEST_LINE} bytes")
        for line in lines:
            yield from self._line(line.rstrip(b"\r"))

    def close(self) -> Iterator[object]:
        """The data of a last event whose end is missing, if it is whole."""
        yield from self._line(self._rest.rstrip(b"\r"))
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[object]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            if data == b"[DONE]":
                self.done = True
            elif data:
                yield decoded(data)


def decoded(data: bytes) -> object:
    """What `data` says in JSON.

    Raises:
        Fault: it is no JSON, or not all of it.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass  # it is broken, or holds what orjson refuses: halves of surrogate pairs, NaN
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        shown = repr(data[:60].decode("utf-8", "replace"))
    start = data.lstrip()[:1]
    if start == b"<":
        raise Fault("foreign", f"a page, {shown}")
    if start in (b"", b"{", b"["):
        raise Fault("broken", f"half an answer came, {shown}" if start else "an empty answer came")
    raise Fault("malformed", f"no JSON, {shown}")
