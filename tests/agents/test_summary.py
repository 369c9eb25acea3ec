import pytest

from tmas_graph.agents.summary import parse, summarise
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Prompt, Prompts
from tmas_graph.state import Problem, Verification


def test_a_summary_is_the_reply_without_the_space_around_it() -> None:
    assert parse(Reply("\n Step 2, \\frac{1}{2}, fails.\n")) == "Step 2, \\frac{1}{2}, fails."


@pytest.mark.parametrize("reply", [Reply("Step 2", finish_reason="length"), Reply(" \n")])
def test_half_a_summary_or_an_empty_one_is_none(reply: Reply) -> None:
    assert parse(reply) == ""


@pytest.mark.anyio
async def test_checks_that_did_not_come_through_are_not_shown() -> None:
    asked: list[str] = []

    async def model(prompt: Prompt, *, n: int = 1) -> list[Reply]:
        asked.append(prompt.messages[-1]["content"])
        return [Reply("ok")]

    checks = [Verification("ALPHA", 1.0), Verification("", None), Verification("BETA", None)]
    await summarise(model, Prompts(), Problem("Q?"), "SOLUTION", checks)
    assert "## Check 1 (score 1.00)\nALPHA" in asked[0]
    assert "## Check 2 (score unknown)\nBETA" in asked[0]
    assert "Check 3" not in asked[0]
