"""The server that plays the agents without thinking."""

import json
from collections import Counter

import orjson
import pytest

from benchmarks.quick.faults import Rates
from benchmarks.quick.server import Quick, answered
from benchmarks.quick.texts import Sizes, reply, role_of

ASKED = {"messages": [{"role": "user", "content": "# Your task: solve the problem"}], "n": 2}


def body(**more: object) -> bytes:
    return json.dumps({**ASKED, **more}).encode()


def texts(raw: bytes) -> list[str]:
    said = orjson.loads(raw.partition(b"\r\n\r\n")[2])
    return [choice["message"]["content"] for choice in said["choices"]]


def test_the_same_request_has_the_same_replies_and_another_seed_others() -> None:
    quick = Quick()
    first, again, other = (texts(answered(quick, body(seed=s)).raw) for s in (1, 1, 2))
    assert first == again
    assert len({*first, *other}) == 4


def test_a_stream_says_what_a_plain_answer_does() -> None:
    quick = Quick(piece=100)
    drawn = answered(quick, body())
    streamed = answered(quick, body(stream=True))
    assert streamed.counts["replies"] == drawn.counts["replies"] == 2
    assert streamed.raw.rstrip().endswith(b"data: [DONE]")


def test_replies_have_about_their_length_and_are_read_by_role() -> None:
    sizes = Sizes(solution=600, verification=200)
    task = "# Your task: check the proposed solution"
    assert role_of(f"# Problem\n{task}\nstep by step") == "verification"
    assert 130 <= len(reply(task, 1, sizes)) <= 300
    assert "\\boxed{" in reply(task, 1, sizes)
    assert 400 <= len(reply("# Your task: solve it", 1, sizes)) <= 850


def test_faults_come_at_their_rates_and_a_second_try_draws_anew() -> None:
    rates = Rates(errors=0.2, hangs=0.1, cuts=0.1)
    drawn = Counter(rates.of(f"request {n}") for n in range(4000))
    shares = {kind: count / 4000 for kind, count in drawn.items()}
    assert shares == pytest.approx(
        {"error": 0.2, "deaf": 0.05, "silent": 0.05, "cut": 0.1, "none": 0.6}, abs=0.03
    )
    quick = Quick(rates=Rates(errors=0.5))
    assert {answered(quick, body()).kind for _ in range(40)} == {"none", "error"}
