"""Where a model is and how it is called: the settings of one endpoint, for all roles or for one."""

import json
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr
from pydantic.json_schema import SkipJsonSchema

Truncated = Literal["keep", "retry", "continue"]


class Frozen(BaseModel):
    """Settings that never change once made, and that know all their names."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


def _url(text: str) -> str:
    parts = urlsplit(text)  # with a ValueError that says what is wrong, as `port` has
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("it is no URL like http://127.0.0.1:8000/v1")
    if not text.isprintable() or " " in text:
        raise ValueError("it has a space or a character that can't be printed in it")
    if parts.username or parts.password:
        raise ValueError("it has a user or password in it, which would be stored; use api_key")
    return text.rstrip("/")  # or one server would look like two


def _json(fields: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"it holds what JSON can't say ({error})") from None
    return fields


Url = Annotated[str, AfterValidator(_url)]
Body = Annotated[dict[str, Any], AfterValidator(_json)]
_MOST_PRICE = 1e9
_MOST_TOKENS = 10**9


class Price(Frozen):
    """What a model's tokens cost, in any currency, per million."""

    prompt: float = Field(0, ge=0, le=_MOST_PRICE)
    """A million prompt tokens."""
    completion: float = Field(0, ge=0, le=_MOST_PRICE)
    """A million completion tokens, thinking included."""
    cached: float | None = Field(None, ge=0, le=_MOST_PRICE)
    """A million prompt tokens that the server had in its cache; none: as others."""


class Endpoint(Frozen):
    """Where a model is, and how it is sampled."""

    base_url: Url | None = None
    """OpenAI-compatible server, for example http://127.0.0.1:8000/v1; none: a small local model."""
    model: str | None = None
    """Name of the served model; none: the only one that the server lists."""
    api_key: SkipJsonSchema[SecretStr | None] = Field(None, exclude=True)
    """Never printed, logged or stored, and in no form; set TMAS_API_KEY in the environment."""
    local_model: str = "smollm2-135m"
    """Without base_url: a local model's name, a GGUF file, or a Hugging Face GGUF id."""
    temperature: float = Field(0.6, ge=0, le=5)
    """0 is greedy."""
    top_p: float = Field(0.95, gt=0, le=1)
    """Nucleus sampling."""
    max_tokens: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    """Most tokens of one reply, thinking included; none: the server's own limit."""
    send_seed: bool = True
    """Send a seed with every call, so that draws are independent and can be repeated."""
    multiple_replies: bool = True
    """Ask for several replies in one request (`n`); what is missing is asked for one by one."""
    extra_body: Body = Field(default_factory=dict)
    """Server-specific fields of the request, for example {"top_k": 20}."""
    timeout_seconds: float = Field(1800, gt=0)
    """Longest time for one call with all its tries, from when it may be sent."""
    stream: bool = True
    """Ask for streamed replies, so that one which falls silent in its midst is noticed."""
    stall_seconds: float = Field(300, gt=0)
    """Longest silence in the midst of a streamed reply."""
    attempts: int = Field(4, ge=1, le=100)
    """Tries of one call when the endpoint is busy or the connection breaks."""
    concurrency: int = Field(64, ge=1, le=100_000)
    """Calls in flight at this endpoint, over all problems of the process."""
    requests_per_minute: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    """Most requests to this endpoint in a minute."""
    tokens_per_minute: int | None = Field(None, ge=1, le=10**12)
    """Most tokens, of prompts and replies, at this endpoint in a minute."""
    context_tokens: int | None = Field(None, ge=64, le=_MOST_TOKENS)
    """Most tokens of a prompt and its reply together; the server's own limit holds if smaller."""
    tokenizer: str | None = None
    """Hugging Face tokenizer (file, folder or name) that counts where the server can't."""
    truncated: Truncated = "keep"
    """A reply that met its limit: keep it as none, retry once with more tokens, or continue it."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """By served model, or `*`: {"prompt", "completion", "cached"} for a million tokens."""
    telemetry: bool = False
    """Send an OpenTelemetry span for every call (GenAI conventions)."""

    def key(self) -> str:
        """The secret itself; never stored or shown."""
        return self.api_key.get_secret_value() if self.api_key else ""

    def identity(self) -> tuple[str, str]:
        """Equal for endpoints that can share a client; for use as a key of a mapping."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True), self.key()


class Override(Frozen):
    """What one role does differently; a field that isn't set is as for all roles."""

    base_url: Url | None = None
    """OpenAI-compatible server of this role."""
    model: str | None = None
    """Name of the served model."""
    api_key: SkipJsonSchema[SecretStr | None] = Field(None, exclude=True)
    """Never printed, logged or stored."""
    local_model: str | None = None
    """Without base_url: a local model's name, a GGUF file, or a Hugging Face GGUF id."""
    temperature: float | None = Field(None, ge=0, le=5)
    """0 is greedy."""
    top_p: float | None = Field(None, gt=0, le=1)
    """Nucleus sampling."""
    max_tokens: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    """Most tokens of one reply, thinking included."""
    send_seed: bool | None = None
    """Send a seed with every call."""
    multiple_replies: bool | None = None
    """Ask for several replies in one request."""
    extra_body: Body | None = None
    """Server-specific fields of the request; replaces those for all roles."""
    timeout_seconds: float | None = Field(None, gt=0)
    """Longest time for one call with all its tries."""
    stream: bool | None = None
    """Ask for streamed replies."""
    stall_seconds: float | None = Field(None, gt=0)
    """Longest silence in the midst of a streamed reply."""
    attempts: int | None = Field(None, ge=1, le=100)
    """Tries of one call."""
    concurrency: int | None = Field(None, ge=1, le=100_000)
    """Calls in flight at this endpoint, which must be one of its own."""
    requests_per_minute: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    """Most requests to this role's own endpoint in a minute."""
    tokens_per_minute: int | None = Field(None, ge=1, le=10**12)
    """Most tokens at this role's own endpoint in a minute."""
    context_tokens: int | None = Field(None, ge=64, le=_MOST_TOKENS)
    """Most tokens of a prompt and its reply together."""
    tokenizer: str | None = None
    """Hugging Face tokenizer that counts where the server can't."""
    truncated: Truncated | None = None
    """What becomes of a reply that met its limit."""
