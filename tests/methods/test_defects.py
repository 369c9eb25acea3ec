"""Faults that published code was seen to have, numbered as people found them: none is here.

What a method rests on is tested where it stands, in tests/models and tests/answers; here each fault
is looked for once more in a run of a method that would suffer from it.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from endpoints.protocol import Failure, Request, ScriptedReply
from endpoints.reasoner import Reasoner, markers
from rival import QUESTION, SHORT, cut, endpoint, saying, settings, solved

from tmas_graph import Problem, asolve
from tmas_graph.errors import AllCandidatesFailed
from tmas_graph.memory.dedup import Different, Known, Same, decide
from tmas_graph.memory.embeddings import embed
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import seed_of
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


@pytest.mark.parametrize(
    "verdict",
    [
        r"I can't say that it is correct. \boxed{0}",
        r"Correctness: Incorrect. \boxed{0}",
        "INCORRECT",
        "It is correct, but for its answer.",
    ],
)
async def test_1_a_verdict_is_never_read_from_a_substring(verdict):
    async with endpoint(script=saying(*"abc", check=verdict)) as at:
        result = await solved("self-refine", at, candidates=1)
        assert (result.stop, result.iterations) == ("iterations", 3)


async def test_1_the_published_substring_can_be_asked_for():
    given = {"self_refine": {"stop_by_substring": True}}
    check = r"I doubt that it is correct. \boxed{0}"
    async with endpoint(script=saying(*"abc", check=check)) as at:
        result = await solved("self-refine", at, candidates=1, methods=given)
        assert (result.stop, result.iterations) == ("confident", 1)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"So \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"First \boxed 12$ is tempting. No: \boxed{\sqrt{\frac{3}{4}}}", r"\sqrt{\frac{3}{4}}"),
    ],
)
async def test_2_a_box_is_read_to_its_own_brace_and_the_last_one_counts(text, answer):
    async with endpoint(script=saying(text)) as at:
        assert (await solved("chain-of-thought", at)).answer == answer


async def test_2_a_box_that_a_check_quotes_is_no_verdict():
    check = r"The solution ends with \boxed{1}, which is not what was asked."
    async with endpoint(script=saying(r"\boxed{1}", check=check)) as at:
        result = await solved("best-of-n", at, candidates=1)
    assert result.score is None


@pytest.mark.parametrize("answers", [("1", "2100"), ("2", r"\frac12"), ("x", r"\sqrt{x}+1")])
async def test_3_answers_that_hold_one_another_are_not_equal(answers):
    texts = [rf"\boxed{{{answer}}}" for answer in answers]
    async with endpoint(script=saying(*texts)) as at:
        result = await solved("self-consistency", at, candidates=2)
    assert result.confidence == 0.5


async def test_3_no_answers_do_not_agree():
    texts = ["I give up", "No idea", "Hm", r"\boxed{5}"]
    async with endpoint(script=saying(*texts)) as at:
        result = await solved("self-consistency", at)
    assert (result.answer, result.confidence) == ("5", 1.0)
    assert [a.answer for a in result.attempts].count(None) == 3


async def test_4_an_empty_reply_is_counted_and_costs_no_problem():
    first = seed_of(0, Place(Problem(QUESTION).id, 0, "solution", 1))

    def script(request: Request, choice: int) -> ScriptedReply:
        reply = SHORT(request, choice)
        return replace(reply, text=None) if request.seed == first else reply

    for method in ("self-consistency", "best-of-n", "self-refine", "verify-refine"):
        async with endpoint(script=script) as at:
            result = await solved(method, at)
        assert [a.outcome for a in result.attempts][:2] == ["finished", "empty"]
        assert result.answer


@pytest.mark.parametrize("method", ["self-refine", "verify-refine"])
async def test_4_where_no_candidate_came_through_the_next_ones_begin_anew(method):
    nothing = {seed_of(0, Place(Problem(QUESTION).id, 0, "solution", i)) for i in range(4)}

    def script(request: Request, choice: int) -> ScriptedReply:
        reply = SHORT(request, choice)
        return replace(reply, text=None) if request.seed in nothing else reply

    async with endpoint(script=script) as at:
        result = await solved(method, at, iterations=2)
        assert {r.role for r in at.asked("solution")} == {"solution_initial"}
        assert len(at.asked("solution")) == 8
    assert result.answer


async def test_5_mathematics_is_carried_byte_for_byte():
    tex = r"\frac{\beta}{\text{a}} \sum_{i} \right\} \n \u00e9 \boldsymbol{x} {{ x }} {% if %}"
    check = rf"At {tex} it fails. \boxed{{0}}"
    async with endpoint(script=saying(*[rf"{tex} \boxed{{1}}"] * 9, check=check)) as at:
        await solved("verify-refine", at, candidates=1)
        shown = [r.text for r in at.asked("solution_refine")]
    assert len(shown) == 2
    assert all(text.count(tex) == 4 for text in shown), "the solution and its three reviews"


@pytest.mark.parametrize(("least", "stop"), [(4, "iterations"), (1, "confident")])
async def test_6_one_review_that_could_be_read_ends_no_run(least, stop):
    def script(request: Request, choice: int) -> str:
        if request.agent == "solution":
            return rf"SOL-{request.draw(0)[:12]} \boxed{{3}}"
        return r"Fine. \boxed{1}" if choice == 0 else "Fine, I think."

    given = {"verify_refine": {"least_reviews": least}}
    async with endpoint(script=script) as at:
        result = await solved("verify-refine", at, verifications=5, methods=given)
    assert result.stop == stop


async def test_7_an_identity_is_the_same_in_every_process():
    code = "from tmas_graph import Problem; print(Problem('What?').id)"
    ids = set()
    for seed in ("1", "2"):
        given = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        done = await asyncio.to_thread(subprocess.check_output, command, env=given)
        ids.add(done)
    assert len(ids) == 1


async def test_7_problems_of_one_text_are_told_apart(tmp_path):
    async with endpoint() as at, open_threads(tmp_path) as store:
        records = [
            await store.create(Problem("What?", id=name), settings(at), {}, "self-consistency")
            for name in ("a", "b")
        ]
        for record in records:
            await store.run(record)
    assert len({r.seed for r in at.requests}) == 8


async def test_8_a_failed_candidate_keeps_nobody_waiting():
    async with endpoint(fail=lambda r: 500 if r.index % 2 else None) as at:
        result = await solved("self-consistency", at)
    assert sorted(a.outcome for a in result.attempts) == ["failed"] * 2 + ["finished"] * 2


async def test_8_a_silent_endpoint_ends_a_call_once_for_all_its_tries():
    async with endpoint(latency=60.0) as at:
        with pytest.raises(AllCandidatesFailed, match="4 of 4 failed"):
            await solved("best-of-n", at, timeout_seconds=0.3, attempts=4)


async def test_9_the_limit_is_on_calls():
    async with endpoint(latency=0.01) as at:
        await solved("best-of-n", at, candidates=30, concurrency=7)
        assert at.max_in_flight == 7


async def test_10_answers_belong_to_their_candidates_in_whatever_order_they_come():
    order = random.Random(7)
    async with endpoint(
        script=lambda r, _: rf"\boxed{{{r.seed}}}", latency=lambda r: order.random() / 20
    ) as at:
        result = await solved("self-consistency", at, candidates=12)
    places = [Place(Problem(QUESTION).id, 0, "solution", i) for i in range(12)]
    assert [a.answer for a in result.attempts] == [str(seed_of(0, place)) for place in places]


async def test_10_a_half_written_last_line_is_taken_out(tmp_path):
    file = tmp_path / "calls.jsonl"
    async with endpoint() as at:
        await asolve(QUESTION, settings(at), method="chain-of-thought", calls=file)
        whole = file.read_text()
        file.write_text(whole + whole[: len(whole) // 2])
        await asolve(QUESTION, settings(at), method="chain-of-thought", calls=file)
    assert [json.loads(line)["place"]["role"] for line in file.read_text().splitlines()] == [
        "solution"
    ] * 2


async def test_11_a_failed_call_is_charged_and_not_done_and_spend_is_carried(tmp_path):
    failing = seed_of(0, Place(Problem(QUESTION).id, 0, "solution", 2))
    async with (
        endpoint(fail=lambda r: 503 if r.seed == failing else None) as at,
        open_threads(tmp_path) as store,
    ):
        record = await store.create(Problem(QUESTION), settings(at), {}, "self-consistency")
        first = await store.run(record)
        assert first.usage.calls == 4
        at.change(fail=None)
        second = await store.run(record)
    assert [a.outcome for a in first.attempts].count("failed") == 1
    assert {a.outcome for a in second.attempts} == {"finished"}
    assert second.usage.calls == len(at.requests) == 5


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("The equation has x = 3.", "The equation has x = 4.", Different),
        ("n is not even.", "n is even.", Different),
        ("The sum is even.", "The sum is even", Same),
    ],
)
async def test_12_rewordings_merge_and_other_numbers_and_negations_do_not(one, other, kind):
    known = [Known.of(text, embed([text])[0]) for text in (one, other)]
    assert isinstance(decide(*known), kind)


@pytest.mark.parametrize("method", ["chain-of-thought", "best-of-n", "tree-of-thoughts"])
async def test_13_truncated_thinking_is_no_answer_and_is_counted(method):
    def script(request: Request, choice: int) -> ScriptedReply:
        return cut(ScriptedReply(text="", thinking=r"so far \boxed{3}", unclosed=True))

    async with endpoint(script=script, thinking="inline") as at:
        result = await solved(method, at)
        assert not at.asked("verification")
    assert (result.answer, {a.outcome for a in result.attempts}) == (None, {"truncated"})


@pytest.mark.parametrize("wording", ["vllm", "vllm_max_tokens", "unhelpful"])
async def test_14_what_exceeds_the_context_is_cut_and_no_candidate_is_lost(wording):
    script = Reasoner(scores_of_right=(0, 1, 1), scores_of_wrong=(0, 1, 1))
    limits = {"context": 2600, "max_model_len": 2600, "context_wording": wording}
    async with endpoint(script=script, **limits) as at:
        result = await solved("verify-refine", at, max_tokens=700, iterations=2, verifications=8)
        refined = [r for r in at.asked("solution_refine") if r.status == 200]
    assert any("is left out" in r.text for r in refined)
    assert {a.outcome for a in result.attempts} == {"finished"}
    assert all(len(markers("SOL", r.text)) == 1 for r in refined)


@pytest.mark.parametrize(("status", "tries"), [(401, 1), (404, 1), (429, 3), (503, 3)])
async def test_15_what_cant_get_better_fails_at_once_and_the_rest_is_tried_again(status, tries):
    failure = Failure(status=status, headers={"retry-after": "0"})
    async with endpoint(fail=lambda r: failure) as at:
        with pytest.raises(AllCandidatesFailed, match=str(status)):
            await solved("chain-of-thought", at, attempts=3)
        assert len(at.requests) == tries


@pytest.mark.parametrize("choices", ["ignored", "short", "refused"])
async def test_16_replies_that_one_request_does_not_give_are_asked_for_one_by_one(choices):
    results = []
    for behaviour in ("honoured", choices):
        async with endpoint(choices=behaviour) as at:
            results.append(await solved("best-of-n", at))
    assert results[0].attempts == results[1].attempts
    assert results[0].answer == results[1].answer
