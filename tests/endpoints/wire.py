"""The JSON of the OpenAI API, as vLLM speaks it."""

import json
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from endpoints.protocol import Behaviour, Failure, Replies, Request, ScriptedReply, text_of


def refusal(request: Request, behaviour: Behaviour) -> Failure | None:
    """What a good server refuses this request for, if anything."""
    if not request.messages:
        return Failure(status=400, message="messages: a non-empty list is required.")
    name = request.body.get("model")
    if name not in behaviour.models:
        said = f"The model `{name}` does not exist."
        return Failure(status=404, body=error_body(said, "NotFoundError", 404, param="model"))
    if request.n > 1 and behaviour.choices == "refused":
        return Failure(status=400, message="Only one completion choice is allowed.")
    return None


def replies_to(request: Request, behaviour: Behaviour) -> Iterator[ScriptedReply]:
    """The choices of the answer."""
    given = {"honoured": request.n, "short": max(1, request.n - 1), "ignored": 1, "refused": 1}
    for choice in range(given[behaviour.choices]):
        reply = behaviour.script(request, choice)
        yield ScriptedReply(text=reply) if isinstance(reply, str) else reply


def _message(reply: ScriptedReply, style: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.thinking and style.startswith("inline"):
        opening = "<think>" if style == "inline" else ""
        message["content"] = f"{opening}{reply.thinking}</think>\n\n{reply.text or ''}"
    elif reply.thinking:
        message[style] = reply.thinking
    return message


def _usage(request: Request, behaviour: Behaviour, replies: Replies) -> dict[str, Any] | None:
    if behaviour.usage == "none":
        return None
    counted = replies[:1] if behaviour.usage == "first_choice" else replies
    count = behaviour.count_tokens
    prompt = count(request.text)
    thinking = sum(count(reply.thinking) for reply in counted)
    said = sum(count(reply.text or "") for reply in counted)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": thinking + said,
        "total_tokens": prompt + thinking + said,
        "completion_tokens_details": {"reasoning_tokens": thinking},
    }


def _head(request: Request, behaviour: Behaviour, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.index}",
        "object": kind,
        "created": int(request.time_received),
        "model": request.body["model"],
        "system_fingerprint": behaviour.fingerprint,
    }


def completion(request: Request, behaviour: Behaviour, replies: Replies) -> dict[str, Any]:
    """The body of an answer."""
    choices = [
        {
            "index": index,
            "message": _message(reply, behaviour.thinking),
            "finish_reason": reply.finish_reason,
            "logprobs": None,
        }
        for index, reply in enumerate(replies)
    ]
    body = _head(request, behaviour, "chat.completion") | {"choices": choices}
    if usage := _usage(request, behaviour, replies):
        body["usage"] = usage
    return body


def chunks(request: Request, behaviour: Behaviour, replies: Replies) -> Iterator[dict[str, Any]]:
    """The events of a streamed answer, without the closing one."""
    head = _head(request, behaviour, "chat.completion.chunk")
    left = {index: _deltas(reply, behaviour) for index, reply in enumerate(replies)}
    while left:  # the choices take turns, as in a server that draws them in one batch
        for index in list(left):
            delta = next(left[index], None)
            reason = None if delta else replies[index].finish_reason
            choice = {"index": index, "delta": delta or {}, "finish_reason": reason}
            yield head | {"choices": [choice]}
            if delta is None:
                del left[index]
    options = request.body.get("stream_options") or {}
    if options.get("include_usage") and (usage := _usage(request, behaviour, replies)):
        yield head | {"choices": [], "usage": usage}


def _deltas(reply: ScriptedReply, behaviour: Behaviour) -> Iterator[dict[str, Any]]:
    message = _message(reply, behaviour.thinking)
    yield {"role": message.pop("role"), "content": ""}
    content = message.pop("content") or ""
    for name, text in [*message.items(), ("content", content)]:
        for begin in range(0, len(text), behaviour.piece_chars):
            yield {name: text[begin : begin + behaviour.piece_chars]}


def error(failure: Failure | int) -> web.Response:
    """The answer to a request that fails."""
    if isinstance(failure, int):
        failure = Failure(status=failure)
    kind = "invalid_request_error" if failure.status < 500 else "server_error"
    body = failure.body
    if body is None:
        body = error_body(failure.message, kind, None)
    return web.Response(
        status=failure.status,
        text=body,
        content_type="application/json",
        headers=dict(failure.headers),
    )


def error_body(message: str, kind: str, code: str | int | None, param: str | None = None) -> str:
    """OpenAI's shape of an error."""
    said = {"message": message, "type": kind, "param": param, "code": code}
    return json.dumps({"error": said})


def models(behaviour: Behaviour) -> web.Response:
    """The list of models, as vLLM gives it."""
    cards = [
        {
            "id": name,
            "object": "model",
            "created": 1_700_000_000,
            "owned_by": "vllm",
            "root": name,
            "parent": None,
            "max_model_len": behaviour.max_model_len,
        }
        for name in behaviour.models
    ]
    return web.json_response({"object": "list", "data": cards})


def tokens(body: dict[str, Any], behaviour: Behaviour) -> web.Response:
    """The tokens of a prompt or of messages, as vLLM's /tokenize gives them."""
    text = body["prompt"] if "prompt" in body else text_of(body["messages"])
    count = behaviour.count_tokens(text)
    return web.json_response(
        {
            "count": count,
            "max_model_len": behaviour.max_model_len,
            "tokens": list(range(count)),
            "token_strs": None,
        }
    )
