"""Choices that are too few, too many, empty, refused or cut, in both forms."""

import json
from typing import Any

import pytest

from endpoints.fault import Fault, combined
from endpoints.faults import replies
from endpoints.protocol import Request, ScriptedReply
from endpoints.reading import USAGE, Choice, take
from endpoints.scripted import server

pytestmark = pytest.mark.anyio
BOTH_FORMS = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
TEXT = "A hand has five fingers, so \\boxed{1234}"
THINKING = "Count the fingers."


def say(request: Request, choice: int) -> ScriptedReply:
    return ScriptedReply(text=TEXT, thinking=THINKING)


async def taken_with(fault: Fault, **more: Any) -> Any:
    async with server(script=say, fault=lambda request: fault, piece_chars=8) as it:
        taken = await take(it.base_url, **more)
        assert it.requests[0].fault == fault.name
        return taken


async def choice_with(fault: Fault, stream: bool) -> Choice:
    (choice,) = (await taken_with(fault, stream=stream)).choices
    return choice  # type: ignore[no-any-return]


@BOTH_FORMS
@pytest.mark.parametrize(
    ("given", "asked", "come"),
    [("ignored", 4, 1), ("short", 4, 3), ("more", 4, 5), ("more", 1, 2)],
)
async def test_other_choices_come_than_were_asked_for(
    given: Any, asked: int, come: int, stream: bool
) -> None:
    taken = await taken_with(replies.choices(given), n=asked, stream=stream)
    assert [choice.text for choice in taken.choices] == [TEXT] * come


async def test_several_choices_may_be_refused() -> None:
    async with server(fault=lambda request: replies.choices("refused")) as it:
        assert (await take(it.base_url, n=2)).status == 400
        assert (await take(it.base_url, n=1)).status == 200


async def test_content_is_null_missing_or_empty_in_a_message() -> None:
    def message(taken: Any) -> dict[str, Any]:
        return dict(json.loads(taken.body)["choices"][0]["message"])

    assert message(await taken_with(replies.NULL_CONTENT)) == {
        "role": "assistant",
        "content": None,
    }
    assert "content" not in message(await taken_with(replies.MISSING_CONTENT))
    assert message(await taken_with(replies.EMPTY_TEXT))["content"] == ""


async def test_content_is_missing_or_empty_in_a_stream() -> None:
    async def deltas(fault: Fault) -> list[dict[str, Any]]:
        taken = await taken_with(fault, stream=True)
        return [chunk["choices"][0]["delta"] for chunk in taken.chunks]

    assert not [d for d in await deltas(replies.MISSING_CONTENT) if "content" in d]
    for fault in (replies.NULL_CONTENT, replies.EMPTY_TEXT):
        assert await deltas(fault) == [{"role": "assistant", "content": ""}, {}]


@BOTH_FORMS
async def test_a_reply_may_be_thinking_only_refused_or_filtered(stream: bool) -> None:
    only = await choice_with(replies.THINKING_ONLY, stream)
    assert (only.text or "", only.thinking, only.finish_reason) == ("", THINKING, "stop")
    refused = await choice_with(replies.REFUSAL, stream)
    assert (refused.text or "", refused.thinking) == ("", "")
    assert refused.refusal
    assert (await choice_with(replies.CONTENT_FILTER, stream)).finish_reason == "content_filter"


async def test_the_reason_to_finish_may_be_null() -> None:
    choice = await choice_with(replies.FINISH_NULL, False)
    assert (choice.text, choice.finish_reason) == (TEXT, None)


@BOTH_FORMS
@pytest.mark.parametrize(
    ("style", "text", "thinking"),
    [
        ("reasoning", TEXT, THINKING),
        ("reasoning_content", TEXT, THINKING),
        ("inline", f"<think>{THINKING}</think>\n\n{TEXT}", ""),
        ("inline_unopened", f"{THINKING}</think>\n\n{TEXT}", ""),
    ],
)
async def test_thinking_comes_in_each_style(
    style: Any, text: str, thinking: str, stream: bool
) -> None:
    choice = await choice_with(replies.thinking(style), stream)
    assert (choice.text, choice.thinking) == (text, thinking)


@BOTH_FORMS
@pytest.mark.parametrize(
    ("where", "text", "thinking"),
    [
        ("thinking", "", THINKING[:9]),
        ("after_thinking", "", THINKING),
        ("text", "A hand has fiv", THINKING),
        ("box", "A hand has five fingers, so \\boxed{12", THINKING),
    ],
)
async def test_a_reply_is_cut_in_each_place(
    where: Any, text: str, thinking: str, stream: bool
) -> None:
    choice = await choice_with(replies.cut(where), stream)
    assert (choice.text or "", choice.thinking) == (text, thinking)
    assert choice.finish_reason == "length"


@BOTH_FORMS
@pytest.mark.parametrize(
    ("where", "style", "text"),
    [
        ("thinking", "inline", f"<think>{THINKING[:9]}"),
        ("thinking", "inline_unopened", THINKING[:9]),
        ("after_thinking", "inline", f"<think>{THINKING}</think>\n\n"),
        ("after_thinking", "inline_unopened", f"{THINKING}</think>\n\n"),
    ],
)
async def test_inline_thinking_that_is_cut_is_not_closed(
    where: Any, style: Any, text: str, stream: bool
) -> None:
    fault = combined(replies.cut(where), replies.thinking(style))
    choice = await choice_with(fault, stream)
    assert (choice.text, choice.finish_reason) == (text, "length")


USAGES = [
    ("first_choice", {"completion_tokens": 15, "total_tokens": 16}),
    ("bare", {"completion_tokens": 30, "completion_tokens_details": None}),
    ("cached", {"prompt_tokens_details": {"cached_tokens": 0}}),
]


@BOTH_FORMS
@pytest.mark.parametrize(("given", "counts"), USAGES)
async def test_usage_is_counted_in_each_way(
    given: Any, counts: dict[str, Any], stream: bool
) -> None:
    asking = {"n": 2, "stream": stream, "stream_options": USAGE}
    taken = await taken_with(replies.usage(given), **asking)
    usage = taken.chunks[-1]["usage"] if stream else json.loads(taken.body)["usage"]
    assert {name: usage.get(name) for name in counts} == counts


async def test_half_of_the_prompt_is_cached() -> None:
    async with server(usage="cached") as it:
        usage = json.loads((await take(it.base_url, "x" * 80)).body)["usage"]
        assert (usage["prompt_tokens"], usage["prompt_tokens_details"]) == (
            20,
            {"cached_tokens": 10},
        )


async def test_usage_is_null_or_missing() -> None:
    asking = {"stream": True, "stream_options": USAGE}
    null, none = replies.usage("null"), replies.usage("none")
    assert json.loads((await taken_with(null)).body)["usage"] is None
    assert (await taken_with(null, **asking)).chunks[-1]["usage"] is None
    assert "usage" not in json.loads((await taken_with(none)).body)
    assert not [c for c in (await taken_with(none, **asking)).chunks if "usage" in c]
