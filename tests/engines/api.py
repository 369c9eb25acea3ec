"""Requests to a vLLM as they are on the wire, and what came back, undigested."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import httpx2

from engines.process import KEY, MODEL

ASK = [{"role": "user", "content": "What is 6*7?"}]
PLAIN = {"chat_template_kwargs": {"enable_thinking": False}}
"""Fields of a request to which the model replies without thinking."""
Json = dict[str, Any]


def connect(url: str) -> httpx2.Client:
    """Make a plain HTTP client of the server at `url`, with the right key.

    It keeps no connection: the server closes an idle one after five seconds, which on a busy
    machine can pass between two requests, and the second is then lost.
    """
    return httpx2.Client(
        base_url=url,
        headers={"Authorization": f"Bearer {KEY}"},
        limits=httpx2.Limits(max_keepalive_connections=0),
        timeout=200,
    )


def chat(client: httpx2.Client, **fields: Any) -> httpx2.Response:
    """Ask the model ASK, or the `messages` given, with these further fields."""
    return client.post("/v1/chat/completions", json=_body(fields))


def answered(client: httpx2.Client, **fields: Any) -> Json:
    """Ask as `chat` does, and return the body of a good answer."""
    response = chat(client, **fields)
    assert response.status_code == 200, response.text
    body: Json = response.json()
    return body


def texts(client: httpx2.Client, **fields: Any) -> list[str]:
    """Ask without thinking, and return the text of each choice."""
    return [c["message"]["content"] for c in answered(client, **PLAIN, **fields)["choices"]]


def refused(client: httpx2.Client, status: int, **fields: Any) -> Json:
    """Ask as `chat` does, and return the error of an answer with this status."""
    response = chat(client, **fields)
    assert response.status_code == status, response.text
    error: Json = response.json()["error"]
    assert error["code"] == status
    return error


def streamed(client: httpx2.Client, **fields: Any) -> list[Json]:
    """Ask for a stream, and return its chunks, once it has ended as it must."""
    body = {**_body(fields), "stream": True}
    with client.stream("POST", "/v1/chat/completions", json=body) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        *chunks, last = _events(response.iter_lines())
    assert last == "[DONE]"
    return [json.loads(chunk) for chunk in chunks]


def joined(chunks: list[Json], index: int, name: str) -> str:
    """Join one field of the deltas of one choice."""
    choices = [c for chunk in chunks for c in chunk["choices"] if c["index"] == index]
    return "".join(choice["delta"].get(name) or "" for choice in choices)


def tokenize(client: httpx2.Client, messages: list[Json], **fields: Any) -> Json:
    """Return how the server splits `messages` into tokens."""
    response = client.post("/tokenize", json={"model": MODEL, "messages": messages, **fields})
    assert response.status_code == 200, response.text
    body: Json = response.json()
    return body


def of_length(client: httpx2.Client, tokens: int) -> list[Json]:
    """Messages that the server counts so many tokens for."""

    def said(words: int) -> list[Json]:
        return [{"role": "user", "content": "word " * words}]

    messages = said(tokens - tokenize(client, said(0), **PLAIN)["count"])
    while (count := tokenize(client, messages, **PLAIN)["count"]) != tokens:
        messages = said(messages[0]["content"].count("word") + tokens - count)
    return messages


def metric(client: httpx2.Client, name: str, label: str = "") -> float:
    """Return one of the server's own counts, of those with this label."""
    lines = client.get("/metrics").text.splitlines()
    own = [line for line in lines if line.startswith(f"{name}{{") and label in line]
    return sum(float(line.rsplit(" ", 1)[1]) for line in own)


def _body(fields: Json) -> Json:
    return {"model": MODEL, "messages": ASK, **fields}


def _events(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line:
            assert line.startswith("data: "), line
            yield line.removeprefix("data: ")
