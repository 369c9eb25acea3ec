"""Answers in good form whose choices are too few, too many, empty, refused or cut."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from endpoints.delivery import Event
from endpoints.fault import Fault
from endpoints.protocol import ScriptedReply

_BOX = "\\boxed{"


def choices(given: Literal["ignored", "short", "more", "refused"]) -> Fault:
    """Treat `n` as `Behaviour.choices` says."""
    return Fault(name=f"n_{given}", behaviour={"choices": given})


def thinking(
    style: Literal["reasoning", "reasoning_content", "inline", "inline_unopened"],
) -> Fault:
    """Send thinking as `Behaviour.thinking` says."""
    return Fault(name=f"thinking_{style}", harmless=True, behaviour={"thinking": style})


def usage(given: Literal["first_choice", "bare", "cached", "null", "none"]) -> Fault:
    """Count tokens as `Behaviour.usage` says."""
    return Fault(name=f"usage_{given}", harmless=True, behaviour={"usage": given})


def _without_content(body: dict[str, Any]) -> dict[str, Any]:
    kept = []
    for choice in body["choices"]:
        message = {key: value for key, value in choice["message"].items() if key != "content"}
        kept.append(choice | {"message": message})
    return body | {"choices": kept}


def _deltas_without_content(events: list[Event]) -> Iterable[Event]:
    for event in events:
        if isinstance(event, bytes) or not event["choices"]:
            yield event
            continue
        (choice,) = event["choices"]
        delta = {key: value for key, value in choice["delta"].items() if key != "content"}
        if delta or choice["finish_reason"] or not choice["delta"]:
            yield event | {"choices": [choice | {"delta": delta}]}


def _only_thinks(reply: ScriptedReply) -> ScriptedReply:
    return replace(reply, text=None, thinking=reply.thinking or reply.text or "")


def _refuses(reply: ScriptedReply) -> ScriptedReply:
    return replace(reply, text=None, thinking="", refusal="I can't help with that.")


NULL_CONTENT = Fault(name="null_content", reply=lambda r: replace(r, text=None, thinking=""))
MISSING_CONTENT = Fault(
    name="missing_content", body=_without_content, events=_deltas_without_content
)
EMPTY_TEXT = Fault(name="empty_text", reply=lambda r: replace(r, text="", thinking=""))
THINKING_ONLY = Fault(name="thinking_only", reply=_only_thinks)
"""All is thinking, no text, and the reason to finish is "stop"."""
REFUSAL = Fault(name="refusal", reply=_refuses)
CONTENT_FILTER = Fault(
    name="content_filter", reply=lambda r: replace(r, finish_reason="content_filter")
)
FINISH_NULL = Fault(
    name="finish_null", streamed=False, reply=lambda r: replace(r, finish_reason=None)
)
"""The whole text of a plain answer, with null for its reason to finish."""


GIVEN_UP = Fault(
    name="given_up", reply=lambda r: replace(_in_text(r), thinking="", finish_reason="abort")
)
"""The begin of each reply; the server has broken it off, as vLLM does when it is shut down."""


def cut(where: Literal["thinking", "after_thinking", "text", "box"]) -> Fault:
    """Cut each reply there, with "length" as the reason; "text" is before the boxed answer.

    A reply without thinking is cut at its begin, one without a boxed answer in its text.
    """
    change = {
        "thinking": _in_thinking,
        "after_thinking": _no_text,
        "text": _in_text,
        "box": _in_box,
    }

    def reply(whole: ScriptedReply) -> ScriptedReply:
        return replace(change[where](whole), finish_reason="length")

    return Fault(name=f"cut_{where}", reply=reply)


def _in_thinking(reply: ScriptedReply) -> ScriptedReply:
    half = reply.thinking[: len(reply.thinking) // 2]
    return replace(reply, text=None, thinking=half, unclosed=True)


def _no_text(reply: ScriptedReply) -> ScriptedReply:
    return replace(reply, text=None)


def _in_text(reply: ScriptedReply) -> ScriptedReply:
    text = (reply.text or "").partition(_BOX)[0]
    return replace(reply, text=text[: len(text) // 2])


def _in_box(reply: ScriptedReply) -> ScriptedReply:
    before, box, rest = (reply.text or "").rpartition(_BOX)
    if not box:
        return _in_text(reply)
    answer = rest.partition("}")[0]
    return replace(reply, text=before + box + answer[: len(answer) // 2])
