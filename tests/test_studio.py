"""`langgraph dev`, offline, driven with langgraph_sdk as Studio would; and what it is built on."""

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from endpoints.reasoner import Reasoner
from endpoints.scripted import ScriptedServer, server
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tmas_graph import Settings
from tmas_graph.methods import METHODS
from tmas_graph.settings import ROLES

REPOSITORY = Path(__file__).parents[1]
KEY = "sk-this-key-is-shown-nowhere"
AGENTS = {
    "rollout:solution_initial",
    "rollout:solution_exploit",
    "rollout:solution_explore",
    "rollout:verification",
    "rollout:summary",
    "experience",
    "guideline",
}
QUESTION = {"problem": {"question": "What is 6 · 7?"}}
SMALL = {"candidates": 2, "iterations": 2}


@dataclass(frozen=True)
class Dev:
    """A running development server, and the scripted endpoint of the place it runs in."""

    url: str
    log: Path
    endpoint: ScriptedServer


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = tmp_path_factory.mktemp("studio")
    file = folder / "tmas.toml"
    file.write_text("verifications = 2\n[roles.summary]\ntemperature = 0.25\n")
    with server(script=Reasoner().short(), key=KEY) as endpoint:
        place = {
            "TMAS_BASE_URL": endpoint.base_url,
            "TMAS_API_KEY": KEY,
            "TMAS_EARLY_STOP": "false",
            "TMAS_SETTINGS": str(file),
        }
        with langgraph_dev(place, folder / "server.log") as url:
            yield Dev(url, folder / "server.log", endpoint)


@contextmanager
def langgraph_dev(place: Mapping[str, str], log: Path) -> Iterator[str]:
    """Serve langgraph.json until the end of the block; the server's URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n-jobs-per-worker", "10"]
    quiet = {
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "1",
        "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
        "LANGSMITH_TRACING": "false",
    }
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("TMAS_")}
    with (
        log.open("w") as output,
        subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env={**inherited, **quiet, **place},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_up(url, process, log)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until_up(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=5):
                return
        except OSError:
            try:  # waits a little, and notices when the server ends
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
    pytest.fail(f"langgraph dev did not come up:\n{log.read_text()[-4000:]}")


@pytest.fixture
async def client(dev: Dev) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev.url) as connected:
        yield connected


async def assistant(client: LangGraphClient, name: str = "tmas") -> str:
    [found] = await client.assistants.search(graph_id=name)
    return found["assistant_id"]


RIVALS = [name for name, method in METHODS.items() if not (method.is_tmas or method.changes)]


def test_every_method_is_served() -> None:
    served = json.loads((REPOSITORY / "langgraph.json").read_text())["graphs"]
    assert list(served) == ["tmas", *RIVALS]


@pytest.mark.studio
@pytest.mark.anyio
@pytest.mark.parametrize("name", RIVALS)
async def test_a_rival_runs_in_the_studio_and_can_be_watched(
    client: LangGraphClient, dev: Dev, name: str
) -> None:
    thread = (await client.threads.create())["thread_id"]
    context: Any = {**SMALL, "verifications": 1}
    before = len(dev.endpoint.requests)
    parts = [
        part
        async for part in client.runs.stream(
            thread,
            name,
            input=QUESTION,
            context=context,
            stream_mode=["custom", "values", "updates", "debug"],
            stream_subgraphs=True,
        )
    ]
    events: list[Any] = [part.data for part in parts if part.event.startswith("custom")]
    assert events[0]["event"] == "iteration"
    assert events[-1]["event"] == "result"
    values: Any = (await client.threads.get_state(thread))["values"]
    assert values["result"]["answer"] == events[-1]["result"]["answer"]
    assert values["result"]["attempts"]
    assert {r.status for r in dev.endpoint.requests[before:]} == {200}
    assert KEY not in json.dumps([parts, await client.threads.get_history(thread, limit=100)])
    schemas = await client.assistants.get_schemas(await assistant(client, name))
    assert set(schemas["context_schema"]["properties"]) == set(Settings.model_fields) - {"api_key"}


@pytest.mark.studio
@pytest.mark.anyio
async def test_the_forms_can_be_read_and_hold_no_key(client: LangGraphClient, dev: Dev) -> None:
    schemas = await client.assistants.get_schemas(await assistant(client))
    problem = schemas["input_schema"]["$defs"]["Problem"]["properties"]
    assert set(problem) == {"question", "id", "kind"}
    fields = schemas["context_schema"]["properties"]
    assert set(fields) == set(Settings.model_fields) - {"api_key"}
    assert fields["epsilon"]["description"] == Settings.model_fields["epsilon"].description
    assert fields["candidates"]["minimum"] == 1
    assert fields["base_url"]["default"] == dev.endpoint.base_url
    assert fields["verifications"]["default"] == 2
    assert fields["roles"]["default"]["summary"]["temperature"] == 0.25
    assert KEY not in json.dumps(schemas)
    assert "api_key" not in json.dumps(schemas)


@pytest.mark.studio
@pytest.mark.anyio
async def test_the_graph_shows_every_agent_by_its_name(client: LangGraphClient) -> None:
    drawn = await client.assistants.get_graph(await assistant(client), xray=True)
    assert {str(node["id"]) for node in drawn["nodes"]} >= AGENTS


@pytest.mark.studio
@pytest.mark.anyio
@pytest.mark.parametrize("context", [None, SMALL, {**SMALL, "roles": {"solution": {"top_p": 1}}}])
async def test_a_run_takes_what_it_is_not_given_from_its_place(
    client: LangGraphClient, dev: Dev, context: Any
) -> None:
    before = len(dev.endpoint.requests)
    thread = await client.threads.create()
    values: Any = await client.runs.wait(
        thread["thread_id"], "tmas", input=QUESTION, context=context
    )
    assert values["result"]["answer"]
    assert values["result"]["iterations"] == (context or {}).get("iterations", 4)
    sent = dev.endpoint.requests[before:]
    assert {r.status for r in sent} == {200}
    assert {r.n for r in sent if r.role == "verification"} == {2}
    assert {r.body["temperature"] for r in sent if r.role == "summary"} == {0.25}


@pytest.mark.studio
@pytest.mark.anyio
async def test_a_run_can_be_watched(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    parts = [
        part
        async for part in client.runs.stream(
            thread["thread_id"],
            "tmas",
            input=QUESTION,
            context=SMALL,
            stream_mode="custom",
            stream_subgraphs=True,
        )
    ]
    events: list[Any] = [part.data for part in parts if part.event.startswith("custom")]
    inside = [part.data for part in parts if part.event.startswith("custom|rollout:")]
    assert [e["iteration"] for e in events if e["event"] == "standing"] == [0, 1]
    assert {(e["iteration"], e["index"]) for e in inside} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert events[-1]["event"] == "result"
    assert events[-1]["result"]["answer"]


@pytest.mark.studio
@pytest.mark.anyio
async def test_a_fork_with_other_epsilon_leaves_the_first_branch_as_it_was(
    client: LangGraphClient, dev: Dev
) -> None:
    thread = (await client.threads.create())["thread_id"]
    exploit: Any = {**SMALL, "epsilon": 0.0}
    await client.runs.wait(thread, "tmas", input=QUESTION, context=exploit)
    first = await client.threads.get_state(thread)
    states = await client.threads.get_history(thread, limit=100)
    [before] = [s for s in states if s["next"] == ["plan"] and s["values"].get("iteration") == 1]

    await client.runs.wait(
        thread, "tmas", checkpoint=before["checkpoint"], context={**exploit, "epsilon": 1.0}
    )
    second: Any = await client.threads.get_state(thread)
    again: Any = await client.threads.get_state(thread, checkpoint=first["checkpoint"])
    assert again["values"] == first["values"]
    assert modes(again) == ["initial", "initial", "exploit", "exploit"]
    assert modes(second) == ["initial", "initial", "explore", "explore"]
    assert items(second) & items(again) == items(before)


def items(state: Any) -> set[str]:
    return {name for name, *_ in state["values"]["experience"]}


def modes(state: Any) -> list[str]:
    return [mode for _, _, mode, *_ in state["values"]["history"]]


@pytest.mark.studio
@pytest.mark.anyio
async def test_no_record_of_a_run_holds_the_key(client: LangGraphClient, dev: Dev) -> None:
    thread = (await client.threads.create())["thread_id"]
    parts = [
        part
        async for part in client.runs.stream(
            thread,
            "tmas",
            input=QUESTION,
            context=SMALL,
            stream_mode=["values", "updates", "debug", "tasks", "checkpoints", "custom"],
            stream_subgraphs=True,
        )
    ]
    assert {r.headers["authorization"] for r in dev.endpoint.requests} == {f"Bearer {KEY}"}
    records = [
        parts,
        await client.threads.get(thread),
        await client.threads.get_state(thread, subgraphs=True),
        await client.threads.get_history(thread, limit=100),
        await client.runs.list(thread),
        await client.assistants.search(),
    ]
    assert KEY not in json.dumps(records)
    assert KEY not in dev.log.read_text()


@pytest.mark.studio
@pytest.mark.anyio
async def test_a_setting_out_of_range_is_named(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    answer: Any = await client.runs.wait(
        thread["thread_id"],
        "tmas",
        input=QUESTION,
        context={"epsilon": 2},
        raise_error=False,
    )
    assert "epsilon" in json.dumps(answer)


@pytest.mark.studio
@pytest.mark.anyio
async def test_nothing_blocks_the_server_and_no_type_is_unknown_to_it(
    client: LangGraphClient, dev: Dev
) -> None:
    thread = (await client.threads.create())["thread_id"]
    for _ in range(2):  # the second reads what the first stored
        await client.runs.wait(thread, "tmas", input=QUESTION, context=SMALL)
    log = re.sub(r"\x1b\[[0-9;]*m", "", dev.log.read_text())
    assert not re.findall(r"(?i)blocking(?:error| call)|.*(?:de|un)?seriali[sz].*|msgpack.*", log)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[Settings]:
    """The settings of a place with keys, of studio.py loaded anew as the server loads it."""
    file = tmp_path / "tmas.toml"
    file.write_text(
        'base_url = "http://a/v1"\n[roles.summary]\nbase_url = "http://b/v1"\ntop_p = 0.5'
    )
    for name in [name for name in os.environ if name.startswith("TMAS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TMAS_SETTINGS", str(file))
    monkeypatch.setenv("TMAS_API_KEY", "key of a")
    monkeypatch.setenv("TMAS_ROLES__SUMMARY__API_KEY", "key of b")
    monkeypatch.setenv("TMAS_ROLES__GUIDELINE__API_KEY", "guideline's key of a")
    spec = importlib.util.spec_from_file_location(
        "studio_here", REPOSITORY / "tmas_graph" / "studio.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings: type[Settings] = module.SettingsHere
    return settings


KEYS = {"solution": "key of a", "summary": "key of b", "guideline": "guideline's key of a"}
OTHER = {"base_url": "http://c/v1"}


@pytest.mark.parametrize(
    ("context", "changed"),
    [
        ({}, {}),
        ({"epsilon": 1.0}, {}),
        ({"base_url": "http://a/v1"}, {}),
        ({"roles": {"summary": {"top_p": 1.0}}}, {}),
        ({**OTHER}, {"solution": "", "guideline": ""}),
        ({**OTHER, "api_key": "key of c"}, {"solution": "key of c", "guideline": "key of c"}),
        ({"roles": {"summary": OTHER}}, {"summary": ""}),
        ({"roles": {"summary": {"base_url": None}}}, {"summary": "key of a"}),
        ({"roles": {"solution": OTHER, "guideline": OTHER}}, {"solution": "", "guideline": ""}),
    ],
)
def test_a_key_of_this_place_goes_to_its_own_server_alone(
    here: type[Settings], context: dict[str, Any], changed: dict[str, str]
) -> None:
    settings = here(**context)
    keys = {role: settings.endpoint(role).key() for role in ROLES if role in KEYS}
    assert keys == {**KEYS, **changed}


def test_what_a_context_does_not_say_is_as_in_this_place(here: type[Settings]) -> None:
    settings = here(roles={"summary": {"temperature": 1.0}})
    assert settings.endpoint("summary").base_url == "http://b/v1"
    assert settings.endpoint("summary").top_p == 0.5
    assert settings.endpoint("summary").temperature == 1.0
    assert settings.endpoint("solution").base_url == "http://a/v1"
