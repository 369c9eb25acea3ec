"""Proxies, passwords, redirects, cookies, compression and trust: what lies below a request."""

import base64
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import certifi
import pytest
from aiohttp import web
from serving import serving

from tmas_graph.errors import RequestRefused
from tmas_graph.models import connections as module
from tmas_graph.models.completion import Completion
from tmas_graph.models.connections import connections, proxy_of
from tmas_graph.models.served import Card, Server
from tmas_graph.models.transport import Connection, Patience

pytestmark = pytest.mark.anyio
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
LARGE = "x" * 2**19
"""Sent in pieces."""


@pytest.fixture(autouse=True)
def no_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def answering(answer: Answer) -> AbstractAsyncContextManager[str]:
    """The URL of a server that answers every request so."""
    application = web.Application(client_max_size=2**24)
    application.router.add_route("*", "/{path:.*}", answer)
    return serving(application)


def noting(seen: list[web.Request]) -> Answer:
    """A server of one model that notes its requests."""

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        return web.json_response({"data": [{"id": "m"}]}, headers={"set-cookie": "a=b"})

    return answer


def completion(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


async def said(url: str, asking: str = "?") -> str:
    """The text of the reply of the server at `url`."""
    read = Completion()
    async with connections(url, 1) as http:
        await Connection(http, url, "s3cret").complete({"messages": asking}, Patience(9, 9), read)
    return "".join(read.choices[0].text)


async def test_a_password_of_netrc_never_takes_the_place_of_the_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password wr0ng\n")
    monkeypatch.setenv("NETRC", str(netrc))
    seen: list[web.Request] = []
    async with answering(noting(seen)) as url:
        for key in ("s3cret", ""):
            async with connections(url, 1) as http:
                await Server(url, key, http).cards()
    given = [request.headers.getall("authorization") for request in seen]
    assert given == [["Bearer s3cret"], ["Bearer none"]]


async def test_cookies_are_not_sent_back() -> None:
    seen: list[web.Request] = []
    async with answering(noting(seen)) as url, connections(url, 1) as http:
        for _ in range(2):
            await Server(url, "", http).cards()
    assert ["cookie" in request.headers for request in seen] == [False, False]


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_the_proxy_of_the_environment_is_asked(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    seen: list[web.Request] = []
    async with answering(noting(seen)) as proxy:
        monkeypatch.setenv(name, proxy.replace("//", "//user:pass@"))
        async with connections("http://nowhere.invalid/v1", 1) as http:
            assert await Server("http://nowhere.invalid/v1", "s3cret", http).cards() == [
                Card("m", None)
            ]
    [request] = seen
    assert request.headers["host"] == "nowhere.invalid"
    assert request.headers["authorization"] == "Bearer s3cret"
    given = request.headers["proxy-authorization"].removeprefix("Basic ")
    assert base64.b64decode(given) == b"user:pass"


@pytest.mark.parametrize(
    ("no_proxy", "url"),
    [
        ("*", "http://x/v1"),
        ("localhost, x", "http://X/v1"),
        ("example.com", "https://api.example.com/v1"),
        (".example.com", "https://api.example.com/v1"),
        ("*.example.com", "https://api.example.com/v1"),
        ("10.0.0.0/8", "http://10.1.2.3:8000/v1"),
        ("127.0.0.1", "http://127.0.0.1:8000/v1"),
        ("::1", "http://[::1]:8000/v1"),
        ("[::1]", "http://[::1]:8000/v1"),
        ("x:8000", "http://x:8000/v1"),
        ("x:443", "https://x/v1"),
        ("http://x", "http://x/v1"),
    ],
)
def test_hosts_of_no_proxy_are_asked_directly(
    monkeypatch: pytest.MonkeyPatch, no_proxy: str, url: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy:1")
    assert proxy_of(url) == "http://proxy:1"
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert proxy_of(url) is None


@pytest.mark.parametrize(
    ("no_proxy", "url"),
    [
        ("", "http://x/v1"),
        (" , ", "http://x/v1"),
        ("example.com", "https://badexample.com/v1"),
        ("api.example.com", "https://example.com/v1"),
        ("10.0.0.0/8", "http://11.1.2.3/v1"),
        ("10.0.0.0/8", "http://ten.example/v1"),
        ("x:8000", "http://x:8001/v1"),
        ("x:8000", "http://x/v1"),
        ("odd:port:", "http://x/v1"),
    ],
)
def test_other_hosts_are_asked_by_proxy(
    monkeypatch: pytest.MonkeyPatch, no_proxy: str, url: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", "proxy:1")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert proxy_of(url) == "http://proxy:1"


def test_each_scheme_may_have_its_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://one:1")
    monkeypatch.setenv("ALL_PROXY", "http://two:2")
    assert (proxy_of("https://x/v1"), proxy_of("http://x/v1")) == ("http://one:1", "http://two:2")


async def test_a_proxy_of_another_kind_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://user:pass@proxy:1")
    with pytest.raises(RequestRefused, match=r"kind 'socks5'.*NO_PROXY") as caught:
        connections("http://x/v1", 1)
    assert "pass" not in str(caught.value).replace("proxy", "")


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("asking", ["?", LARGE], ids=["short", "long"])
async def test_a_redirect_is_followed_with_the_whole_request(status: int, asking: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if request.path.startswith("/v1"):
            return web.Response(status=status, headers={"location": "/other/chat/completions"})
        return web.json_response(completion(f"{request.headers['authorization']} {body}"))

    async with answering(answer) as url:
        heard = await said(f"{url}/v1", asking)
    assert heard.startswith("Bearer s3cret")
    assert asking in heard


async def test_another_server_isnt_told_the_key() -> None:
    seen: list[web.Request] = []

    async def refusing(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        return web.json_response({"error": {"message": "who?"}}, status=401)

    async with answering(refusing) as other:

        async def sending_on(request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"location": f"{other}{request.path}"})

        async with answering(sending_on) as url, connections(url, 1) as http:
            with pytest.raises(RequestRefused, match=rf"redirects to {other}.*set base_url"):
                await Server(f"{url}/v1", "s3cret", http).cards()
    [request] = seen
    assert "authorization" not in request.headers


async def test_redirects_without_end_fail_for_good() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        await request.read()
        return web.Response(status=307, headers={"location": str(request.url)})

    async with answering(answer) as url, connections(url, 1) as http:
        assert await Server(url, "s3cret", http).slot_length() is None
        with pytest.raises(RequestRefused, match="the URL can't be used"):
            await Server(url, "s3cret", http).cards()


@pytest.mark.parametrize("coding", [web.ContentCoding.gzip, web.ContentCoding.deflate])
async def test_compressed_answers_are_read(coding: web.ContentCoding) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if not (await request.json()).get("stream") or request.path.startswith("/whole"):
            response = web.json_response(completion(LARGE))
            response.enable_compression(coding)
            return response
        streamed = web.StreamResponse(headers={"content-type": "text/event-stream"})
        streamed.enable_compression(coding)
        await streamed.prepare(request)
        for delta in ("a", LARGE, "z"):
            choice = {"delta": {"content": delta}, "finish_reason": "stop"}
            await streamed.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        await streamed.write(b"data: [DONE]\n\n")
        return streamed

    async with answering(answer) as url:
        assert await said(f"{url}/v1") == f"a{LARGE}z"
        assert await said(f"{url}/whole") == LARGE


def test_the_roots_that_the_environment_names_are_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    end = "-----END CERTIFICATE-----\n"
    root = tmp_path / "root.pem"
    root.write_text(Path(certifi.where()).read_text().partition(end)[0] + end)
    monkeypatch.setenv("SSL_CERT_FILE", str(root))
    context = module._trusted.__wrapped__()
    assert len(context.get_ca_certs()) == 1
    assert context.check_hostname
