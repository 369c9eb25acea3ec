"""All faults with usual parameters, by what a client may expect of them; for `mix`."""

from datetime import UTC, datetime
from typing import get_args

from endpoints.behaviour import Wording
from endpoints.fault import Fault
from endpoints.faults import bodies, connection, errors, replies, streams

PASSING = (
    connection.drop("before_headers"),
    connection.drop("after_headers"),
    connection.drop("midway"),
    streams.ends_early(),
    streams.ends_early(done=True),
    streams.WITHOUT_FINISH,
    replies.GIVEN_UP,
    bodies.HALF_JSON,
    bodies.EMPTY,
    errors.error_event(500),
    errors.error_body(500),
    errors.http(408),
    errors.http(429, retry_after=0),
    errors.http(429, retry_after=datetime(2026, 1, 1, tzinfo=UTC)),
    errors.http(500),
    errors.http(500, form="text"),
    errors.http(502, form="html"),
    errors.http(503, form="empty"),
)
"""No answer, or half of one, for reasons that a repeat may not meet."""

REFUSING = (
    errors.http(400),
    errors.http(400, form="text"),
    errors.http(403, form="html"),
    errors.http(404),
    errors.http(422),
    *(errors.too_long(wording) for wording in get_args(Wording)),
    errors.error_event(400),
    errors.error_body(400),
)
"""The request is said to be wrong."""

MALFORMED = (
    bodies.HTML,
    bodies.MISLABELLED,
    bodies.EMPTY_OBJECT,
    bodies.EMPTY_LIST,
    bodies.JSON_NULL,
    bodies.NULL_CHOICES,
    bodies.NO_CHOICES,
    streams.NEVER,
    streams.ALWAYS,
)
"""Status 200, and no completion, or not in the form that was asked for."""

POOR = (
    *(replies.choices(given) for given in ("ignored", "short", "more", "refused")),
    replies.NULL_CONTENT,
    replies.MISSING_CONTENT,
    replies.EMPTY_TEXT,
    replies.THINKING_ONLY,
    replies.REFUSAL,
    replies.CONTENT_FILTER,
    replies.FINISH_NULL,
    *(replies.cut(where) for where in ("thinking", "after_thinking", "text", "box")),
)
"""A completion in good form with other choices than were asked for, or with useless ones."""

HARMLESS = (
    *(
        replies.thinking(style)
        for style in ("reasoning", "reasoning_content", "inline", "inline_unopened")
    ),
    *(replies.usage(given) for given in ("first_choice", "bare", "cached", "null", "none")),
    streams.WITHOUT_DONE,
    streams.DUPLICATE_FINISH,
    streams.DUPLICATE_USAGE,
    streams.USAGE_FIRST,
    streams.TURNING,
    streams.IN_SEQUENCE,
    streams.TOGETHER,
    streams.THINKING_WITH_CONTENT,
    streams.KEEP_ALIVE,
    streams.CRLF,
    streams.grouped(3),
    streams.split(7),
    connection.late(0.01),
    connection.slow(0.001),
)
"""The whole answer, in a form that a client has to read as well."""

HANGS = tuple(connection.hang(where) for where in connection.PLACES)
"""They last until the client gives up: for clients with a short timeout only."""

QUICK: tuple[Fault, ...] = (*PASSING, *REFUSING, *MALFORMED, *POOR, *HARMLESS)
"""All that end by themselves."""
BY_NAME = {fault.name: fault for fault in (*QUICK, *HANGS)}
