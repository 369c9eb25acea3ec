"""Connections to one server: how many, how long they are kept, by which proxy, whom they trust."""

import functools
import ssl
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies

import aiohttp

from tmas_graph.errors import RequestRefused

_CONNECT_SECONDS = 30.0
_KEPT_SECONDS = 3.0
"""Less than the 5 s after which uvicorn, and so vLLM, closes an idle connection."""
_SPARE = 16
"""Connections for questions to the server, which don't wait for the limiter."""
_PORTS = {"http": 80, "https": 443}


def connections(base_url: str, most: int) -> aiohttp.ClientSession:
    """A pool for `most` requests at a time to one server, for the event loop that runs.

    Only connecting is limited in time here. The session reads no ~/.netrc, whose password would
    take the place of the key, as it would if it looked for proxies itself.

    Raises:
        RequestRefused: the environment names a proxy of a kind that can't be used.
    """
    proxy = proxy_of(base_url)
    if proxy is not None and urlsplit(proxy).scheme not in _PORTS:
        raise RequestRefused(
            f"{base_url}: the environment names a proxy of the kind {urlsplit(proxy).scheme!r}, "
            "which can't be used. Give one that begins with http://, or put the host in NO_PROXY."
        )
    encrypted = any(url.startswith("https:") for url in (base_url.lower(), proxy or ""))
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=most + _SPARE,
            keepalive_timeout=_KEPT_SECONDS,
            ssl=_trusted() if encrypted else True,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"user-agent": "tmas-graph"},
        proxy=proxy,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
    )


def proxy_of(url: str) -> str | None:
    """The proxy that the environment, or the system, names for `url`."""
    proxies = getproxies()
    parts = urlsplit(url)
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or any(_is_in(parts, entry) for entry in proxies.get("no", "").split(",")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_in(parts: SplitResult, entry: str) -> bool:
    """Whether `entry` of NO_PROXY means the host: by name, end of it, address or network."""
    entry = entry.strip().lower().rpartition("://")[2]
    host = parts.hostname or ""
    if entry == "*":
        return True
    try:
        network = ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        pass
    else:
        try:
            return ip_address(host) in network
        except ValueError:
            return False
    name, port = entry, ""
    if entry.rpartition(":")[2].isdecimal():
        name, _, port = entry.rpartition(":")
    name = name.strip("[]").removeprefix("*").removeprefix(".")
    if port and int(port) != (parts.port or _PORTS.get(parts.scheme)):
        return False
    return bool(name) and f".{host}".endswith(f".{name}")


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The roots of SSL_CERT_FILE or SSL_CERT_DIR, else the system's; they take 20 ms to load."""
    import httpx2  # noqa: PLC0415  (only where it is encrypted; it knows each system's store)

    return httpx2.create_ssl_context()
