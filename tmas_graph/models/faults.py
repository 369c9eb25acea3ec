"""Why a request brought no reply, whether to send it again, and what to tell people."""

import json
import os
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Self

import httpx2

Kind = Literal["connection", "deadline", "stalled", "busy", "malformed", "foreign", "context", "no"]
"""`foreign`: no API at all; `context`: the prompt or its reply is too long; `no`: for good."""

_AGAIN = frozenset({"connection", "stalled", "busy", "malformed"})
_BUSY = frozenset({408, 409, 425, 429})
_PUSHING_BACK = frozenset({429, 503})
_TOO_LONG = frozenset({400, 413, 422, 500})
_CONTEXT = re.compile(
    r"context.{0,20}(?:length|size|window|limit)|context_length|exceed_context"
    r"|max(?:imum)?[_ ](?:completion[_ ]|model[_ ]|new[_ ]|input[_ ])?(?:tokens?|len(?:gth)?)\b"
    r"|(?:prompt|input|request|messages?|sequence).{0,40}too (?:long|large|many)"
    r"|too many tokens|token limit|exceed.{0,40}tokens|tokens.{0,40}exceed"
    r"|(?:prompt|input).{0,30}(?:length|tokens).{0,40}(?:exceed|longer|greater|maximum)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_SAID = 300


class Fault(Exception):
    """A request that brought no usable answer."""

    def __init__(
        self,
        kind: Kind,
        said: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        received: int = 0,
    ) -> None:
        """Note what is wrong.

        Args:
            kind: what it means for the call.
            said: what the server, or the connection, said.
            status: HTTP status, where there was one.
            retry_after: seconds that the server asks to wait.
            received: bytes of text that had come before.
        """
        super().__init__(kind, said)
        self.kind = kind
        self.said = said
        self.status = status
        self.retry_after = retry_after
        self.received = received

    @classmethod
    def of_status(
        cls,
        status: int,
        said: str,
        *,
        about: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> Self:
        """The fault that an HTTP status, and what was said with it, stand for."""
        words = f"{said} {about.get('code', '')} {about.get('type', '')}" if about else said
        kind: Kind = "no"
        if status in _TOO_LONG and _CONTEXT.search(words):
            kind = "context"
        elif status in _BUSY or status >= 500:
            kind = "busy"
        return cls(kind, _line(said), status=status, retry_after=retry_after)

    @property
    def again(self) -> bool:
        """Whether the same request may succeed when it is sent again."""
        return self.kind in _AGAIN

    @property
    def pushes_back(self) -> bool:
        """Whether the server asks for fewer requests."""
        return self.status in _PUSHING_BACK

    @property
    def words(self) -> str:
        """What went wrong, for people."""
        if self.status is None:
            return self.said
        return f"HTTP {self.status} ({self.said})" if self.said else f"HTTP {self.status}"


def of_response(status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    """The fault that an error response states."""
    about: dict[str, Any] = {}
    said = body.decode("utf-8", "replace")
    try:
        plain = json.loads(body)
    except ValueError:
        plain = None
    if isinstance(plain, dict):
        inner = plain.get("error", plain)
        about = inner if isinstance(inner, dict) else {}
        said = str(about.get("message") or about.get("detail") or inner)
    elif "<html" in said.lower() or "<!doctype" in said.lower():
        said = "an HTML page"
    return Fault.of_status(status, said, about=about, retry_after=_retry_after(headers))


def of_error(error: Exception) -> Fault:
    """The fault that an exception of the transport stands for."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(cause, OSError) and cause.errno:
        reason = os.strerror(cause.errno) if cause.errno > 0 else cause.strerror
        return Fault("connection", f"it can't be reached ({reason})")
    if isinstance(error, httpx2.ConnectTimeout):
        return Fault("connection", "no connection could be made in time")
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return Fault("no", f"the URL can't be used ({_line(str(error))})")
    return Fault(
        "connection", f"the connection broke ({_line(str(cause)) or type(cause).__name__})"
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "")
        try:
            return max(0.0, float(text) * unit)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except (ValueError, TypeError):
            pass
    return None


def _line(text: str) -> str:
    stripped = text.strip()
    return stripped.splitlines()[0][:_LONGEST_SAID] if stripped else ""
