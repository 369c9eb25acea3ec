"""What the exceptions of aiohttp and of sockets mean for a call."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from tmas_graph.models.faults import of_error
from tmas_graph.models.served import explained

AT = "http://x/v1"


def all_of(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for below in kind.__subclasses__():
        yield from all_of(below)


KEY: Any = SimpleNamespace(host="x", port=80, ssl=True, is_ssl=False)
"""Where a connection leads."""


def instance(kind: type[Exception]) -> Exception:
    """An error of this kind, whatever its constructor takes."""
    said = "first line\nsecond line"
    if issubclass(kind, aiohttp.ClientResponseError):
        return kind(None, (), message=said)  # type: ignore[arg-type]
    if issubclass(kind, aiohttp.client_exceptions.UnixClientConnectorError):
        return kind("path", KEY, OSError(None, said))
    if issubclass(kind, aiohttp.ClientConnectorError | aiohttp.ClientConnectorCertificateError):
        return kind(KEY, OSError(None, said))
    error = kind.__new__(kind, said)
    kind.__init__(error, said)
    return error


FOREIGN = {kind for kind in all_of(aiohttp.ClientError) if kind.__module__.startswith("aiohttp.")}
FOREIGN -= {aiohttp.ServerFingerprintMismatch}  # no fingerprints are asked for
FOREIGN |= {kind for kind in all_of(OSError) if kind.__module__ in ("builtins", "socket", "ssl")}


@pytest.mark.parametrize("kind", sorted(FOREIGN, key=lambda kind: kind.__name__))
def test_every_error_of_the_transport_becomes_one_of_ours(kind: type[Exception]) -> None:
    text = str(explained(of_error(instance(kind)), AT))
    assert text.startswith(f"{AT}: ")
    assert text.endswith(".")
    assert "\n" not in text


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def unconnected(number: int, said: str = "?") -> Exception:
    return aiohttp.ClientConnectorError(KEY, OSError(number, said))


def answered(kind: type[aiohttp.ClientResponseError], said: str) -> Exception:
    return kind(None, (), message=said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (unconnected(errno.ECONNREFUSED), "unreachable", "Connection refused"),
        (unconnected(errno.ETIMEDOUT), "unreachable", "Connection timed out"),
        (
            aiohttp.ClientConnectorDNSError(KEY, socket.gaierror(-2, "Name or service not known")),
            "unreachable",
            "Name or service",
        ),
        (
            caused(
                aiohttp.ClientConnectorCertificateError(KEY, ssl.SSLError(1, "x")),
                ssl.SSLError(1, "self-signed"),
            ),
            "unreachable",
            "self-signed",
        ),
        (
            caused(aiohttp.ConnectionTimeoutError("Connection timeout to host x"), TimeoutError()),
            "unreachable",
            "Connection timeout to host",
        ),
        (
            aiohttp.ClientProxyConnectionError(KEY, OSError(errno.ECONNREFUSED, "?")),
            "unreachable",
            "Connection refused",
        ),
        (
            answered(aiohttp.ClientHttpProxyError, "Proxy Authentication Required"),
            "unreachable",
            "Proxy Auth",
        ),
        (aiohttp.ServerDisconnectedError(), "broken", "Server disconnected"),
        (aiohttp.ClientOSError(errno.ECONNRESET, "x"), "broken", "Connection reset by peer"),
        (aiohttp.ClientOSError(errno.ECONNREFUSED, "x"), "unreachable", "Connection refused"),
        (aiohttp.SocketTimeoutError("Timeout on reading data"), "broken", "Timeout on reading"),
        (
            caused(
                aiohttp.ClientPayloadError("x"),
                aiohttp.http.HttpProcessingError(message="not enough data"),
            ),
            "broken",
            "not enough data",
        ),
        (ConnectionResetError(errno.ECONNRESET, "x"), "broken", "Connection reset by peer"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), "unreachable", "Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "unreachable", "Name or service"),
        (ssl.SSLError(1, "bad certificate"), "broken", "bad certificate"),
        (aiohttp.NonHttpUrlClientError("ftp://x"), "no", "URL"),
        (aiohttp.InvalidUrlClientError("x"), "no", "URL"),
        (UnicodeError("label too long"), "no", "URL"),
        (answered(aiohttp.TooManyRedirects, ""), "no", "TooManyRedirects"),
        (answered(aiohttp.ClientResponseError, "bad status line"), "broken", "bad status"),
        (TimeoutError(), "broken", "TimeoutError"),
        (asyncio.IncompleteReadError(b"", 3), "broken", "0 bytes"),
    ],
    ids=repr,
)
def test_errors_of_the_transport_say_whether_anything_was_sent(
    error: Exception, kind: str, said: str
) -> None:
    fault = of_error(error)
    assert (fault.kind, said in fault.said) == (kind, True)
    assert fault.worked_on == (kind == "broken")


def test_too_many_open_files_are_no_server_that_is_down() -> None:
    fault = of_error(unconnected(errno.EMFILE))
    assert "ulimit -n" in str(explained(fault, AT))
