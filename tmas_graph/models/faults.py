"""Why a request brought no reply, whether to send it again, and what it may have cost."""

import errno
import json
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Self

import aiohttp

Kind = Literal[
    "unreachable",
    "broken",
    "deadline",
    "stalled",
    "busy",
    "malformed",
    "foreign",
    "context",
    "no",
]
"""`unreachable`: nothing was sent; `broken`: half an answer came, or none; `malformed`: no
completion; `foreign`: no API at all; `context`: too long for the model; `no`: for good."""
TRANSPORT = (aiohttp.ClientError, OSError, UnicodeError)
"""All that a transport raises; `of_error` understands it."""

_AGAIN = frozenset({"unreachable", "broken", "stalled", "busy", "malformed"})
_WORKED_ON = frozenset({"broken", "deadline", "stalled", "malformed"})
_BUSY = frozenset({408, 409, 425, 429})
_FOR_GOOD = frozenset({501, 505})
_PUSHING_BACK = frozenset({429, 503, 529})
_TOO_LONG = frozenset({400, 413, 422, 500})
_CONTEXT = re.compile(
    r"context.{0,20}(?:length|size|window|limit)|context_length|exceed_context"
    r"|max(?:imum)?[_ ](?:completion[_ ]|model[_ ]|new[_ ]|input[_ ])?(?:tokens?|len(?:gth)?)\b"
    r"|(?:prompt|input|request|messages?|sequence).{0,40}too (?:long|large|many)"
    r"|too many tokens|token limit|exceed.{0,40}tokens|tokens.{0,40}exceed"
    r"|(?:prompt|input).{0,30}(?:length|tokens).{0,40}(?:exceed|longer|greater|maximum)",
    re.IGNORECASE | re.DOTALL,
)
_OTHER = re.compile(
    r"not supported|unsupported|unrecognized|unknown (?:field|param)", re.IGNORECASE
)
"""Words of refusals that are about a field, not about its size."""
_QUOTA = re.compile(r"insufficient_quota|billing", re.IGNORECASE)
_UNREACHED = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
_NO_CONNECTION = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    socket.gaierror,
)
_NO_URL = (
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
    aiohttp.TooManyRedirects,
    UnicodeError,
)
"""The last one: of a host whose name can't be one."""
_LONGEST_SAID = 300
_LONGEST_READ = 20_000
"""Were it cut before a key in it is hidden, half of the key might stay."""


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
        if status in _TOO_LONG and _CONTEXT.search(words) and not _OTHER.search(words):
            kind = "context"
        elif status in _BUSY or (status >= 500 and status not in _FOR_GOOD):
            kind = "no" if status == 429 and _QUOTA.search(words) else "busy"
        return cls(kind, _line(said), status=status, retry_after=retry_after)

    @property
    def again(self) -> bool:
        """Whether the same request may succeed when it is sent again."""
        return self.kind in _AGAIN

    @property
    def worked_on(self) -> bool:
        """Whether the server may have spent tokens on the request."""
        return self.received > 0 or (self.status is None and self.kind in _WORKED_ON)

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

    def __str__(self) -> str:
        """Give the words alone."""
        return self.words

    def without(self, secret: str) -> Self:
        """The same, with `secret` left out of what the server said."""
        self.said = hidden(self.said, secret)[:_LONGEST_SAID]
        return self


def hidden(text: str, secret: str) -> str:
    """`text` without `secret`, as it is or as JSON writes it: some servers repeat the key."""
    if not secret:
        return text
    for form in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        text = text.replace(form, "…")
    return text


def of_response(status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    """The fault that an error response states."""
    about: dict[str, Any] = {}
    said = body.decode("utf-8", "replace")
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError):
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
    if isinstance(error, _NO_URL):
        return Fault("no", f"the URL can't be used ({_reason(error)})")
    cause = error.__cause__
    reason = _reason(cause if cause and str(cause) else error)
    if isinstance(error, _NO_CONNECTION) or getattr(error, "errno", None) in _UNREACHED:
        return Fault("unreachable", f"it can't be reached ({reason})")
    return Fault("broken", f"the connection broke ({reason})")


def _reason(cause: BaseException) -> str:
    number = getattr(cause, "errno", None)
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and number:
        return os.strerror(number) if number > 0 else _line(str(cause.strerror))
    said = getattr(cause, "message", None)  # aiohttp's words without its code
    return _line(said if isinstance(said, str) else str(cause)) or type(cause).__name__


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (text := headers.get(name)) is None:
            continue
        try:
            return max(0.0, float(text) * unit)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except (ValueError, TypeError, OverflowError, IndexError):
            pass
    return None


def _line(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text[:_LONGEST_READ])
    return " ".join(shown.split())
