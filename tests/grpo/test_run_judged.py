"""A run whose similarity is in doubt about everything, so that a judge decides."""

import json
from pathlib import Path

import pytest
from endpoints.protocol import Request
from endpoints.scripted import server
from toy_run import PROBLEMS, policy_server, prepared, row, write_rows

from tmas_graph.grpo import metrics
from tmas_graph.grpo.interfaces import Tools
from tmas_graph.grpo.run import Surroundings, train

pytestmark = pytest.mark.training

TOOLS = Tools(lambda text, gold: text.strip() in PROBLEMS, lambda solution, strategy: 0.5)
WORDS = {"a": "novel", "b": "listed", "c": "unused", "d": "both"}


def script(request: Request, choice: int) -> str:
    """The judge goes by the letter that the solution is, and has no word for some."""
    solution = request.text.partition("# Solution\n")[2][0]
    return rf"It is {solution}. \boxed{{{WORDS.get(solution, 'novel')}}}"


def test_verdicts_are_rewarded_recorded_and_asked_for_once(tmp_path: Path) -> None:
    with server(script=script) as at:
        judge = {"base_url": at.base_url, "model": "scripted"}
        settings = prepared(
            tmp_path,
            steps=3,
            data__train=str(
                write_rows(tmp_path / "g.parquet", [row(one, "guideline") for one in PROBLEMS])
            ),
            novelty={"min_words": 0, "judge": judge},
        )
        train(settings, Surroundings(TOOLS, policy_server().opened))
        asked = len(at.requests)
    samples = [
        json.loads(line)
        for file in sorted((settings.out / "samples").iterdir())
        for line in file.read_text().splitlines()
    ]
    right = [one for one in samples if one["correct"]]
    for one in right:
        word = WORDS.get(one["completion"], "novel")
        novelty = "unreadable" if word == "both" else word
        assert one["judge"]["reply"] == rf"It is {one['completion']}. \boxed{{{word}}}"
        assert (one["novelty"], one["judge"]["novelty"]) == (novelty, novelty)
        assert (one["reward"], one["likeness"]) == (1.5 if novelty == "novel" else -0.5, 0.5)
    assert all(one["judge"] is None for one in samples if not one["correct"])
    assert asked == len({one["completion"] for one in right})
    assert asked == sum(one["judge"]["how"] == "asked" for one in right)
    steps = [one for one in metrics.read(settings.out) if one["kind"] == "train"]
    for at_step in steps:
        assert at_step["judge/doubtful"] == 1
        assert at_step["judge/asked"] + at_step["judge/known"] == 1
        assert at_step["judge/unreadable"] == at_step["novelty/unreadable"]
    assert max(one["novelty/unreadable"] for one in steps) > 0
