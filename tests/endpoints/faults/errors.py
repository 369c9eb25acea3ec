"""Errors, by HTTP status or in an answer that began well."""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any, Literal

from endpoints.behaviour import Wording
from endpoints.delivery import DONE, Event
from endpoints.fault import Fault
from endpoints.protocol import Failure

PAGE = "<!DOCTYPE html>\n<html><head><title>{0}</title></head><body><h1>{0}</h1></body></html>\n"
_TYPES = {400: "BadRequestError", 500: "InternalServerError"}


def http(
    status: int,
    *,
    retry_after: float | datetime | None = None,
    form: Literal["openai", "text", "html", "empty"] = "openai",
) -> Fault:
    """Answer with a status of 4xx or 5xx; `retry_after` is sent as seconds or as a date."""
    reason = HTTPStatus(status).phrase
    body, content_type = {
        "openai": (None, "application/json"),
        "text": (reason, "text/plain"),
        "html": (PAGE.format(f"{status} {reason}"), "text/html"),
        "empty": ("", "text/plain"),
    }[form]
    headers = {} if retry_after is None else {"Retry-After": _moment(retry_after)}
    failure = Failure(
        status=status, message=reason, headers=headers, body=body, content_type=content_type
    )
    retry = "retry_date" if isinstance(retry_after, datetime) else "retry" if headers else ""
    parts = ("http", str(status), "" if form == "openai" else form, retry)
    return Fault(name="_".join(filter(None, parts)), failure=failure)


def _moment(at: float | datetime) -> str:
    if isinstance(at, datetime):
        return format_datetime(at.astimezone(UTC), usegmt=True)
    return f"{at:g}"


def too_long(wording: Wording = "vllm", *, context: int = 0) -> Fault:
    """Refuse the request as longer than `context` tokens; one that is shorter is answered."""
    return Fault(
        name=f"too_long_{wording}", behaviour={"context": context, "context_wording": wording}
    )


def error_event(code: Literal[400, 500] = 500, *, chunks: int = 2) -> Fault:
    """Send an error as an event after `chunks` others, then the closing one, as vLLM does."""

    def events(whole: list[Event]) -> Iterable[Event]:
        return [*whole[:chunks], _error(code), DONE]

    return Fault(name=f"error_event_{code}", streamed=True, events=events)


def error_body(code: Literal[400, 500] = 500) -> Fault:
    """Send an error as the body of a plain answer with status 200, as some proxies do."""
    return Fault(name=f"error_body_{code}", streamed=False, body=lambda body: _error(code))


def _error(code: int) -> dict[str, Any]:
    said = {"message": "scripted failure", "type": _TYPES[code], "param": None, "code": code}
    return {"error": said}
