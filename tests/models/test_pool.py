import asyncio

import pytest
from endpoints.scripted import server

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import RequestRefused
from tmas_graph.models import pool
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
