import pytest
from endpoints.scripted import server

from tmas_graph.errors import EndpointDown
from tmas_graph.evaluation.grading import graded, judge_of
from tmas_graph.models import pool
from tmas_graph.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


@pytest.mark.parametrize(
    ("said", "accepted"), [(r"\boxed{yes}", True), (r"\boxed{no}", False), ("yes", False)]
)
async def test_the_judge_decides_only_where_the_rules_are_unsure(said, accepted):
    async with server(script=lambda request, context: said) as at:
        settings = Settings(base_url=at.base_url, attempts=1, judge=True)
        model = await judge_of(settings)
        plain = [await graded(p, "4", judge_by=model) for p in ("4", "5")]
        assert [(g.accepted, g.judgement) for g in plain] == [(True, None), (False, None)]
        assert at.requests == []
        odd = await graded(r"So \boxed{n odd}", "all odd numbers", question="Q?", judge_by=model)
        assert (odd.verdict.outcome, odd.accepted) == ("unsure", accepted)
        assert len(at.requests) == 1
        assert at.requests[0].body["temperature"] == 0
        assert "Q?" in at.requests[0].text


async def test_without_a_judge_unsure_is_not_accepted():
    done = await graded(r"\boxed{n odd}", "all odd numbers")
    assert (done.verdict.outcome, done.judgement, done.accepted) == ("unsure", None, False)


async def test_a_refused_request_accepts_nothing_and_keeps_its_cause():
    async with server(fail=lambda request: 400) as at:
        model = await pool.connect(Settings(base_url=at.base_url, attempts=1).endpoint("judge"))
        done = await graded("n odd", "all odd numbers", judge_by=model)
        assert (done.accepted, done.judgement.opinion) == (False, "unreadable")
        assert "400" in done.judgement.reason


async def test_a_judge_that_is_down_is_said_at_once():
    settings = Settings(base_url="http://127.0.0.1:9/v1", attempts=1)
    with pytest.raises(EndpointDown):
        await judge_of(settings)


async def test_the_judge_need_not_be_up_while_it_is_off():
    async with server() as at:
        gone = {"judge": {"base_url": "http://127.0.0.1:9/v1"}}
        values = {"base_url": at.base_url, "attempts": 1, "roles": gone}
        assert "judge" not in await pool.check(Settings.checked(values))
        with pytest.raises(EndpointDown):
            await pool.check(Settings.checked({**values, "judge": True}))
