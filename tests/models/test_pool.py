import asyncio
import gc
from typing import Any

import pytest
from endpoints.scripted import server

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import RequestRefused, SettingsError
from tmas_graph.models import pool
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.prompts import Prompt
from tmas_graph.settings import ROLES, Settings

ASK = Prompt([{"role": "user", "content": "Hello"}])


@pytest.mark.anyio
async def test_equal_endpoints_share_a_client_and_other_ones_do_not() -> None:
    one = Endpoint(base_url="http://x/v1", api_key="a", extra_body={"top_k": 1})
    same = Endpoint(base_url="http://x/v1", api_key="a", extra_body={"top_k": 1})
    others = [
        one.model_copy(update={"temperature": 0.1}),
        Endpoint(base_url="http://x/v1", api_key="b", extra_body={"top_k": 1}),
        Endpoint(base_url="http://y/v1", api_key="a", extra_body={"top_k": 1}),
    ]
    client = await pool.connect(one)
    assert await pool.connect(same) is client
    assert len({id(await pool.connect(other)) for other in (one, *others)}) == 4
    await pool.close()
    assert await pool.connect(one) is not client
    await pool.close()


def test_an_endpoint_works_in_one_event_loop_after_another() -> None:
    async def ask(endpoint: Endpoint) -> str:
        try:
            client = await pool.connect(endpoint)
            return (await client(ASK))[0].text
        finally:
            await pool.close()

    with server(script=lambda r, c: "hi") as scripted:
        endpoint = Endpoint(base_url=scripted.base_url)
        assert [asyncio.run(ask(endpoint)) for _ in range(2)] == ["hi", "hi"]


def test_every_role_is_checked_and_named() -> None:
    async def check(settings: Settings) -> dict[str, str]:
        try:
            return await pool.check(settings)
        finally:
            await pool.close()

    with server(models=("one", "two")) as scripted:
        settings = Settings.checked(
            {
                "base_url": scripted.base_url,
                "model": "one",
                "roles": {"verification": {"model": "two"}},
            }
        )
        models = asyncio.run(check(settings))
        assert models == {**dict.fromkeys(ROLES, "one"), "verification": "two"}
        wrong = settings.model_copy(update={"model": "three"})
        with pytest.raises(RequestRefused, match="It serves: one, two"):
            asyncio.run(check(wrong))
        assert scripted.requests == []


def test_connections_are_closed_with_their_loop(recwarn: pytest.WarningsRecorder) -> None:
    async def ask() -> EndpointClient:
        client = await pool.connect(Endpoint(base_url=scripted.base_url))
        await client(ASK)
        return client

    with server(script=lambda r, c: "hi") as scripted:
        client = asyncio.run(ask())
        with pytest.raises(RuntimeError, match="is closed"):
            asyncio.run(client(ASK))
    gc.collect()
    assert not recwarn.list


def test_money_can_be_limited_only_where_each_model_has_a_price() -> None:
    async def check(**prices: Any) -> dict[str, str]:
        settings = Settings.checked(
            {"base_url": scripted.base_url, "max_cost": 1.0, "prices": prices}
        )
        return await pool.check(settings)

    with server() as scripted:
        with pytest.raises(SettingsError, match=r"no price is known for 'scripted'.*\[prices"):
            asyncio.run(check(other={"prompt": 1}))
        assert asyncio.run(check(**{"*": {"prompt": 1}}))
