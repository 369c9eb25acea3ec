"""Requests to the vLLM server that samples for the trainer: deadlines, retries, clear refusals.

Each status is looked at. What may pass (a lost connection, a deadline, 408, 429, 5xx, a body that
can't be used) is tried again with growing pauses; what won't is refused at once.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Self, TypeVar

import httpx2

from tmas_graph.errors import EndpointDown, RequestRefused

Read = TypeVar("Read")
_PASSING = frozenset({408, 429})
_LONGEST_PAUSE = 30.0
_CONNECT_SECONDS = 30.0
_SERVE = "Start the server with the command that `tmas train serve` prints."
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for an answer, and how often to ask for it."""

    seconds: float
    """For each attempt, all in all."""
    attempts: int = 5
    pause: float = 0.5
    """Seconds before the second attempt; doubled before each further one, up to 30."""

    def before(self, attempt: int, wished: float | None) -> float:
        """Seconds to wait before `attempt` (2, 3, …), and as long as the server has wished."""
        own = self.pause * 2.0 ** (attempt - 2)
        return float(min(max(own, wished or 0.0), _LONGEST_PAUSE))


class Unusable(Exception):
    """An answer that can't be used, though the next may be; it doesn't leave this package."""

    def __init__(self, why: str, status: int | None = None, wished: float | None = None) -> None:
        """Say `why`; the server has `wished` for so many seconds of rest."""
        super().__init__(why)
        self.status = status
        self.wished = wished


def as_it_is(body: Any) -> Any:
    """Read nothing out of a body."""
    return body


class Server:
    """A vLLM server; used inside `async with`, or closed by `close`."""

    def __init__(
        self, url: str, key: str = "", *, not_found: str = _SERVE, trust_env: bool = False
    ) -> None:
        """Ask the server with root `url` (without /v1), in the name of `key`.

        `not_found` is what to do where it doesn't know what it is asked for. With `trust_env` it is
        asked through the proxies that the environment names; they have no part in what is bound to
        loopback.
        """
        self._not_found = not_found
        self.url = url.rstrip("/").removesuffix("/v1")
        self._http = httpx2.AsyncClient(
            headers={"authorization": f"Bearer {key}"} if key else {},
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=3.0),
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            trust_env=trust_env,
        )

    async def __aenter__(self) -> Self:
        """Give itself."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close all connections."""
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def get(
        self, path: str, patience: Patience, read: Callable[[Any], Read] = as_it_is
    ) -> Read:
        """Give what `read` makes of the answer to GET; otherwise as `post`."""
        request = self._http.build_request("GET", self.url + path)
        return await self._ask(request, patience, read)

    async def post(
        self,
        path: str,
        body: Any,
        patience: Patience,
        read: Callable[[Any], Read] = as_it_is,
    ) -> Read:
        """Send `body` as JSON, and give what `read` makes of the answer.

        Where `read` raises Unusable, the request is sent again.

        Raises:
            EndpointDown: no attempt had an answer that can be used.
            RequestRefused: the same request would be refused again.
        """
        request = self._http.build_request("POST", self.url + path, json=body)
        return await self._ask(request, patience, read)

    async def _ask(
        self, request: httpx2.Request, patience: Patience, read: Callable[[Any], Read]
    ) -> Read:
        for attempt in range(1, patience.attempts + 1):
            try:
                return read(await self._answer(request, patience.seconds))
            except Unusable as unusable:
                if attempt == patience.attempts:
                    raise EndpointDown(
                        f"{request.url}: {unusable}, in attempt {attempt} of {attempt}. "
                        "See whether the server runs; its log says more.",
                        unusable.status,
                    ) from unusable
                pause = patience.before(attempt + 1, unusable.wished)
                _LOGGER.warning("%s: %s; again in %.1f s", request.url, unusable, pause)
                await asyncio.sleep(pause)
        raise AssertionError("patience has at least one attempt")

    async def _answer(self, request: httpx2.Request, seconds: float) -> Any:
        """One attempt: the body of a good answer; anything else is raised."""
        try:
            async with asyncio.timeout(seconds):
                response = await self._http.send(request)
        except TimeoutError as error:
            raise Unusable(f"no answer within {seconds:g} s") from error
        except httpx2.RequestError as error:
            why = str(error) or type(error).__name__
            raise Unusable(f"the connection failed ({why:.200})") from error
        return _body(response, self._not_found)


def _body(response: httpx2.Response, not_found: str) -> Any:
    """The JSON of a good answer; None where it has another body, as some routes have."""
    status = response.status_code
    if status in _PASSING or status >= 500:
        wished = response.headers.get("retry-after", "")
        raise Unusable(
            f"status {status} ({_reason(response)})",
            status,
            float(wished) if wished.isdecimal() else None,
        )
    if status != 200:
        _refuse(response, not_found)
    if "json" not in response.headers.get("content-type", ""):
        return None
    try:
        return response.json()
    except ValueError as error:
        raise Unusable("an answer that is no JSON", status) from error


def _refuse(response: httpx2.Response, not_found: str) -> NoReturn:
    advice = {
        401: "Give the server's API key.",
        403: "Give the server's API key.",
        404: not_found,
    }.get(response.status_code, "The server's log says more.")
    raise RequestRefused(
        f"{response.url}: refused with {response.status_code} ({_reason(response)}). {advice}",
        response.status_code,
    )


def _reason(response: httpx2.Response) -> str:
    """What the server gives as its reason, in one line."""
    try:
        told = response.json()
    except ValueError:
        told = response.text
    for name in ("error", "message", "detail"):
        if isinstance(told, dict) and name in told:
            told = told[name]
    return " ".join(str(told).split())[:300] or "no reason given"
