"""The JSON of the OpenAI API, as vLLM speaks it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from endpoints.behaviour import Behaviour
from endpoints.delivery import DONE, Answer, failed, plain, streamed
from endpoints.fault import Fault
from endpoints.protocol import Replies, Request, ScriptedReply

_GOOD = Fault(name="none")


def replies_to(request: Request, behaviour: Behaviour, fault: Fault | None) -> Replies:
    """The choices of the answer; none where it is a failure."""
    if fault and fault.failure:
        return ()
    given = {
        "honoured": request.n,
        "ignored": 1,
        "short": max(1, request.n - 1),
        "more": request.n + 1,
        "refused": 1,
    }
    made = (behaviour.script(request, choice) for choice in range(given[behaviour.choices]))
    change = (fault or _GOOD).reply
    return tuple(change(ScriptedReply(text=r) if isinstance(r, str) else r) for r in made)


def answer(request: Request, behaviour: Behaviour, replies: Replies, fault: Fault | None) -> Answer:
    """The answer to a request that is not refused."""
    fault = fault or _GOOD
    as_stream = {"as_asked": request.streamed, "never": False, "always": True}
    if fault.failure:
        good = failed(fault.failure)
    elif as_stream[behaviour.streams]:
        good = streamed(fault.events([*chunks(request, behaviour, replies), DONE]))
    else:
        good = plain(fault.body(completion(request, behaviour, replies)))
    return fault.answer(good)


def _message(reply: ScriptedReply, style: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.thinking and style.startswith("inline"):
        opening = "<think>" if style == "inline" else ""
        closing = "" if reply.unclosed else f"</think>\n\n{reply.text or ''}"
        message["content"] = f"{opening}{reply.thinking}{closing}"
    elif reply.thinking:
        message[style] = reply.thinking
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    return message


def _usage(request: Request, behaviour: Behaviour, replies: Replies) -> dict[str, Any] | None:
    if behaviour.usage == "null":
        return None
    counted = replies[:1] if behaviour.usage == "first_choice" else replies
    count = behaviour.count_tokens
    prompt = behaviour.tokens_of(request)
    thinking = sum(count(reply.thinking) for reply in counted)
    said = sum(count(reply.text or "") for reply in counted)
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": thinking + said,
        "total_tokens": prompt + thinking + said,
    }
    if behaviour.usage != "bare":
        usage["completion_tokens_details"] = {"reasoning_tokens": thinking}
    if behaviour.usage == "cached":
        usage["prompt_tokens_details"] = {"cached_tokens": prompt // 2}
    return usage


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
    if behaviour.usage != "none":
        body["usage"] = _usage(request, behaviour, replies)
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
    if options.get("include_usage") and behaviour.usage != "none":
        yield head | {"choices": [], "usage": _usage(request, behaviour, replies)}


def _deltas(reply: ScriptedReply, behaviour: Behaviour) -> Iterator[dict[str, Any]]:
    message = _message(reply, behaviour.thinking)
    yield {"role": message.pop("role"), "content": ""}
    content = message.pop("content") or ""
    for name, text in [*message.items(), ("content", content)]:
        for begin in range(0, len(text), behaviour.piece_chars):
            yield {name: text[begin : begin + behaviour.piece_chars]}


def faulted(behaviour: Behaviour, fault: Fault | None) -> Behaviour:
    """The behaviour towards a request that meets `fault`."""
    return replace(behaviour, **fault.behaviour) if fault and fault.behaviour else behaviour
