import gzip
import random
from collections import Counter
from typing import Any

import pytest

from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import MARKERS, SHORT, Reasoner, markers, prose, role_of
from tmas_graph.agents import experience, guideline, summary, verification
from tmas_graph.answers.extract import answer_of
from tmas_graph.memory.guideline_bank import listed
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Prompts
from tmas_graph.state import Rollout, Strategy, Verification

ROLLOUT = Rollout(0, 0, "initial", solution="It is 42", summary="Fine.", outcome="finished")
VALUES: dict[str, Any] = {
    "problem": "What is 6 × 7? # Your task: solve the problem",
    "kind": "answer",
    "solution": r"It is \boxed{42}",
    "verifications": [Verification("good", 1.0)],
    "words": 100,
    "items": 5,
    "strategies": listed([Strategy("by hand", "count", ((0, 1),))], 999),
    "experience": [],
    "borrowed": [],
    "rollouts": [ROLLOUT],
}
TEMPLATES = (
    "solution_initial",
    "solution_exploit",
    "solution_explore",
    "verification",
    "summary",
    "experience",
    "guideline",
)


def request_for(name: str, seed: int = 0, **changes: Any) -> Request:
    messages = Prompts().render(name, **{**VALUES, **changes})
    plain = tuple(dict(message) for message in messages)
    return Request(
        index=0,
        attempt=0,
        time_received=0,
        headers={},
        body={},
        messages=plain,
        seed=seed,
        role=role_of(plain),
    )


def play(name: str, seed: int = 0, script: Reasoner | None = None, **changes: Any) -> Reply:
    said: ScriptedReply = (script or Reasoner())(request_for(name, seed, **changes), 0)
    return Reply(said.text or "", said.thinking)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_is_known_by_its_task(name: str) -> None:
    assert request_for(name).role == name
    assert request_for(name).agent == name.partition("_")[0]
    assert request_for(name, kind="proof").role == name


def test_other_messages_have_no_role() -> None:
    assert role_of(({"role": "user", "content": "Hello"},)) == "unknown"


def test_the_parsers_read_every_reply() -> None:
    assert answer_of(play("solution_explore").text) in {"42", "41", "7", "13", "84"}
    assert verification.parse(play("verification")).score in {0.0, 0.5, 1.0}
    assert summary.parse(play("summary")).startswith("SUM-")
    assert len(experience.parse(play("experience")).added) == 3
    said = guideline.parse(play("guideline"), [Strategy("by hand")], 1).said
    assert [(r.attempts, bool(r.essence), bool(r.outcome)) for r in said] == 2 * [({1}, True, True)]


@pytest.mark.parametrize("name", TEMPLATES)
def test_replies_carry_markers_of_their_own_kind_and_no_others(name: str) -> None:
    kinds = {"solution": "SOL", "verification": "VER", "summary": "SUM", "experience": "EXP"}
    own = kinds.get(name.partition("_")[0], "STRAT")
    reply = play(name)
    assert {kind for kind in MARKERS if markers(kind, reply.text)} == {own}
    assert len(markers("THINK", reply.thinking)) == 1
    seen = [markers(own, play(name, seed).text) for seed in range(50)]
    assert len(frozenset().union(*seen)) == sum(map(len, seen))


def test_answers_are_right_and_scores_are_noisy_as_often_as_said() -> None:
    answers = Counter(answer_of(play("solution_initial", seed).text) for seed in range(1000))
    assert answers["42"] == pytest.approx(600, abs=50)
    certain = Reasoner(chance={"solution_exploit": 1.0})
    assert all(
        answer_of(play("solution_exploit", seed, certain).text) == "42" for seed in range(50)
    )
    for answer, share in (("42", 0.7), ("41", 0.15)):
        checks = [
            verification.parse(play("verification", seed, solution=rf"\boxed{{{answer}}}")).score
            for seed in range(500)
        ]
        assert checks.count(1.0) == pytest.approx(500 * share, abs=50)


def test_texts_are_as_long_as_said_and_hard_to_compress() -> None:
    for seed in range(20):
        assert 2000 <= len(play("solution_initial", seed).text) <= 4100
        assert 800 <= len(play("verification", seed).text) <= 1300
        assert len(play("solution_initial", seed, Reasoner(lengths=SHORT)).text) < 250
    text = prose(random.Random(1), (100_000, 100_000))
    assert len(gzip.compress(text.encode())) > 0.35 * len(text)
