r"""Asks a model whether the strategy of a solution is listed, where similarity leaves it in doubt.

A reply is read strictly: one of `\boxed{novel}`, `\boxed{listed}`, `\boxed{unused}`, and no other
box. What can't be read is "unreadable" and is rewarded as a listed strategy: else a policy could
escape the penalty by texts that confuse the judge. Each question is asked once in a run; verdicts
are kept in judge.jsonl in its folder, which a resumed run reads.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tmas_graph.errors import RequestRefused, SettingsError, StorageError
from tmas_graph.grpo.grading import last_boxed
from tmas_graph.grpo.hacks import final_text, is_hedged
from tmas_graph.grpo.novelty import JudgeSettings, Verdict
from tmas_graph.grpo.rewards import Novelty
from tmas_graph.grpo.rows import Message
from tmas_graph.grpo.server import Patience, Server, Unusable

VERDICTS = "judge.jsonl"
TEMPLATE = Path(__file__).with_name("novelty_judge.md")
_BOXED: Mapping[str, Novelty] = {"novel": "novel", "listed": "listed", "unused": "unused"}
_OF_ONE_QUESTION = frozenset({400, 413, 422})
"""Refusals that another solution needn't meet: too long a prompt, say."""
_ATTEMPTS = 4


class ModelJudge:
    """Asks the model at an endpoint, and remembers what it said."""

    def __init__(self, settings: JudgeSettings, server: Server, folder: Path) -> None:
        """Begin with the verdicts that are kept in `folder`.

        Raises:
            StorageError: they can't be read.
        """
        self._settings = settings
        self._server = server
        self._file = folder / VERDICTS
        self._known = _kept(self._file)
        self._asking: dict[str, asyncio.Task[Verdict]] = {}
        self._calls = len(self._known)
        self._limiter = asyncio.Semaphore(settings.concurrency)

    async def __call__(self, solution: str, listed: Sequence[str]) -> Verdict:
        """Give the verdict on `solution`, asked for now or earlier.

        Raises:
            CallError: the endpoint can't be reached, or refuses every question.
            StorageError: the verdict can't be kept.
        """
        messages = messages_of(solution, listed)
        key = sha256(json.dumps([self._settings.model, messages]).encode()).hexdigest()
        if key in self._known:
            return self._known[key]._replace(how="known")
        if key in self._asking:
            return (await asyncio.shield(self._asking[key]))._replace(how="known")
        if self._calls >= self._settings.max_calls:
            return Verdict("unknown", how="capped")
        self._calls += 1
        self._asking[key] = asyncio.create_task(self._asked(key, messages))
        try:
            return await self._asking[key]
        finally:
            del self._asking[key]

    async def _asked(self, key: str, messages: Sequence[Message]) -> Verdict:
        own = self._settings
        body = {
            "model": own.model,
            "messages": list(messages),
            "temperature": 0.0,
            "max_tokens": own.max_tokens,
        }
        try:
            async with self._limiter:
                patience = Patience(own.timeout_seconds, _ATTEMPTS)
                verdict = await self._server.post(_path(own.base_url), body, patience, read)
        except RequestRefused as error:
            if error.status not in _OF_ONE_QUESTION:
                raise
            return Verdict("unknown", str(error), "refused")
        self._known[key] = verdict
        self._keep({"key": key, "novelty": verdict.novelty, "reply": verdict.reply})
        return verdict

    def _keep(self, record: Mapping[str, str]) -> None:
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StorageError(
                f"{self._file}: can't be written ({error.strerror}). Free some room on its disk."
            ) from error


@asynccontextmanager
async def opened(
    settings: JudgeSettings | None, key: str, folder: Path
) -> AsyncIterator[ModelJudge | None]:
    """Connect to the judge that `settings` name, if they do, in the name of `key`."""
    if settings is None:
        yield None
        return
    advice = "See novelty.judge.base_url and novelty.judge.model."
    async with Server(settings.base_url, key, not_found=advice, trust_env=True) as server:
        yield ModelJudge(settings, server, folder)


def key_of(settings: JudgeSettings | None, environment: Mapping[str, str]) -> str:
    """Give the judge's API key out of `environment`; empty where it takes none.

    Raises:
        SettingsError: the variable that is to hold it isn't there.
    """
    if settings is None or not settings.key_variable:
        return ""
    if not environment.get(settings.key_variable):
        raise SettingsError(
            f"novelty.judge.key_variable: {settings.key_variable} isn't in the environment. "
            f"Run: export {settings.key_variable}=…, or leave the setting out if the judge takes "
            "no key."
        )
    return environment[settings.key_variable]


def messages_of(solution: str, listed: Sequence[str]) -> tuple[Message, ...]:
    """Give the question as chat messages."""
    template = _template()
    context = template.new_context({"solution": solution, "listed": list(listed)})
    return tuple(
        Message(role=role, content="".join(template.blocks[role](context)).strip())
        for role in ("system", "user")
    )


@cache
def _template() -> Template:
    # Values go in once and are never scanned again: a solution full of braces does no harm.
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def read(body: Any) -> Verdict:
    """Read an answer of the endpoint.

    Raises:
        Unusable: it holds no reply, so that it is asked again.
    """
    try:
        choice = body["choices"][0]
        text, reason = choice["message"]["content"] or "", choice.get("finish_reason")
    except (LookupError, TypeError, AttributeError) as error:
        raise Unusable("an answer without a reply") from error
    return parse(str(text), truncated=reason == "length")


def parse(reply: str, *, truncated: bool = False) -> Verdict:
    """Read a verdict; unreadable is one that is cut off, missing, unknown or contradicts itself."""
    said = final_text(reply)
    boxed = None if truncated or is_hedged(said) else last_boxed(said)
    return Verdict(_BOXED.get((boxed or "").strip(), "unreadable"), reply)


def _path(base_url: str) -> str:
    version = "/v1" if base_url.rstrip("/").endswith("/v1") else ""  # Server leaves it out
    return f"{version}/chat/completions"


def _kept(file: Path) -> dict[str, Verdict]:
    """Verdicts of earlier sittings; a line that was torn by a crash is left out."""
    if not file.exists():
        return {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise StorageError(f"{file}: can't be read ({error}). Remove it.") from error
    found = dict[str, Verdict]()
    for line in lines:
        try:
            record = json.loads(line)
            found[record["key"]] = Verdict(record["novelty"], record["reply"])
        except (ValueError, LookupError, TypeError):
            continue
    return found
