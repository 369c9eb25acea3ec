"""Methods as solvers: on inspect's models and on endpoints of our own."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from endpoints.reasoner import Reasoner
from endpoints.scripted import server
from inspect_ai.event import EventTreeSpan, event_tree
from inspect_ai.log import EvalLog, EvalSample, resolve_sample_attachments
from inspect_ai.model import ModelOutput, get_model
from inspecting.conftest import QUESTION, SMALL, Scripted, run, says

from tmas_graph.errors import SettingsError
from tmas_graph.inspecting.solvers import SOLVERS, method
from tmas_graph.methods import METHODS

CALLS = 2 * (2 * (1 + 2 + 1) + 2)
"""Of TMAS with the small settings: two iterations."""


def only(log: EvalLog) -> EvalSample:
    assert log.status == "success", log.error and log.error.message
    assert log.samples is not None
    [sample] = log.samples
    assert sample.error is None, sample.error
    return sample


def tree(sample: EvalSample) -> dict[str, dict[str, list[str]]]:
    """By iteration and role, what the transcript holds; of an iteration itself under no role."""
    found: dict[str, dict[str, list[str]]] = {}
    for span in spans(event_tree(sample.events), "iteration"):
        inner = found.setdefault(span.name, {"": []})
        for child in span.children:
            if isinstance(child, EventTreeSpan):
                inner[child.name] = [e.event for e in child.children]  # type: ignore[union-attr]
            else:
                inner[""].append(child.event)
    return found


def spans(nodes: Any, kind: str) -> list[EventTreeSpan]:
    inner = [node for node in nodes if isinstance(node, EventTreeSpan)]
    below = [found for node in inner for found in spans(node.children, kind)]
    return [node for node in inner if node.type == kind] + below


def test_tmas_solves_on_the_models_of_the_eval() -> None:
    scripted = Scripted()
    sample = only(run(scripted.model(), method("tmas", **SMALL)))
    assert r"\boxed{42}" in sample.output.completion
    assert sample.scores is not None
    assert sample.scores["grader"].value == "C"
    kept = sample.store["tmas"]
    assert (kept["answer"], kept["stop"], len(kept["attempts"])) == ("42", "iterations", 4)
    assert [standing["answer"] for standing in kept["standings"]] == ["42", "42"]
    assert len(scripted.roles) == CALLS
    [usage] = sample.model_usage.values()
    assert (usage.input_tokens, usage.output_tokens) == (7 * CALLS, 5 * CALLS)
    assert kept["usage"]["calls"] == CALLS
    assert kept["usage"]["prompt_tokens"] == 10 * CALLS
    assert kept["usage"]["cached_tokens"] == 3 * CALLS


def test_the_transcript_has_a_span_for_each_iteration_and_role() -> None:
    found = tree(only(run(Scripted().model(), method("tmas", **SMALL))))
    roles = {"solution": 2, "verification": 4, "summary": 2, "experience": 1, "guideline": 1}
    calls = {role: ["model"] * count for role, count in roles.items()}
    banks_and_standing = {"": ["info"] * 3}
    assert found == {
        "iteration 0": {**calls, **banks_and_standing},
        "iteration 1": {**calls, **banks_and_standing},
    }


def test_the_banks_are_told_as_they_grow() -> None:
    sample = only(run(Scripted().model(), method("tmas", **SMALL)))
    told = [event.data for event in sample.events if event.event == "info"]
    assert next(d["added"] for d in told if d["event"] == "experience") == ["Multiply the numbers."]
    assert next(d["added"] for d in told if d["event"] == "guideline") == ["Multiplication"]


def test_settings_reach_the_model_and_no_two_replies_share_a_seed() -> None:
    scripted = Scripted()
    more = {"temperature": 0.4, "top_p": 0.8, "max_tokens": 99, "extra_body": {"top_k": 20}}
    only(run(scripted.model(), method("tmas", **SMALL, **more)))
    given = {(c.temperature, c.top_p, c.max_tokens) for c in scripted.configs}
    assert given == {(0.4, 0.8, 99)}
    assert {str(config.extra_body) for config in scripted.configs} == {"{'top_k': 20}"}
    seeds = [config.seed for config in scripted.configs]
    assert None not in seeds
    assert len(set(seeds)) == CALLS


def test_each_epoch_draws_anew() -> None:
    scripted = Scripted()
    log = run(scripted.model(), method("self-consistency", candidates=2), epochs=2)
    assert log.status == "success"
    assert len({config.seed for config in scripted.configs}) == 4


def test_a_role_may_have_a_model_of_its_own() -> None:
    solving, checking = Scripted(), Scripted()
    only(
        run(
            solving.model(),
            method("best-of-n", **SMALL),
            model_roles={"verification": checking.model("checker")},
        )
    )
    assert set(solving.roles) == {"solution_initial"}
    assert checking.roles == ["verification"] * 4


def test_a_failed_request_fails_its_candidate_alone() -> None:
    scripted = Scripted(
        fail=lambda role, n: "it broke" if (role, n) == ("solution_initial", 0) else ""
    )
    kept = only(run(scripted.model(), method("self-consistency", candidates=3))).store["tmas"]
    assert Counter(a["outcome"] for a in kept["attempts"]) == {"finished": 2, "failed": 1}
    assert kept["answer"] == "42"


def test_of_several_replies_those_that_came_are_kept() -> None:
    scripted = Scripted(fail=lambda role, n: "it broke" if (role, n) == ("verification", 0) else "")
    kept = only(run(scripted.model(), method("best-of-n", candidates=1, verifications=3)))
    assert [a["score"] for a in kept.store["tmas"]["attempts"]] == [1.0]


def test_a_sample_whose_candidates_all_fail_is_an_error_with_the_cause() -> None:
    log = run(Scripted(fail=lambda role, n: "it broke").model(), method("chain-of-thought"))
    assert log.status == "error"
    assert log.error is not None
    assert "no candidate came through" in log.error.message
    assert "mockllm/scripted: it broke. See to the model" in log.error.message


def test_inspects_limit_of_tokens_ends_the_sample() -> None:
    sample = only(run(Scripted().model(), method("tmas", **SMALL), token_limit=40))
    assert sample.limit is not None
    assert sample.limit.type == "token"
    assert "tmas" not in sample.store


def test_inspects_limit_of_time_ends_a_sample_that_hangs() -> None:
    async def never(*given: object) -> ModelOutput:
        await asyncio.Event().wait()
        raise AssertionError

    hanging = get_model("mockllm/hanging", memoize=False, custom_outputs=never)
    sample = only(run(hanging, method("tmas", **SMALL), time_limit=1))
    assert sample.limit is not None
    assert sample.limit.type == "time"


def test_our_own_budget_ends_it_with_the_best_answer() -> None:
    sample = only(run(Scripted().model(), method("tmas", **SMALL, max_calls=9)))
    kept = sample.store["tmas"]
    assert (kept["stop"], kept["answer"]) == ("budget", "42")
    assert kept["usage"]["calls"] < CALLS


def test_endpoints_of_our_own_are_told_to_inspect() -> None:
    with server(script=Reasoner(chance=1.0).short()) as endpoint:
        own = method("tmas", way="endpoints", base_url=endpoint.base_url, **SMALL)
        sample = only(run("none/none", own))
        assert len(endpoint.requests) > 0
        name = endpoint.requests[0].body["model"]
    kept = sample.store["tmas"]
    assert kept["answer"] == "42"
    assert set(sample.model_usage) == {name}
    usage = sample.model_usage[name]
    assert usage.total_tokens == sum(kept["usage"][f"{k}_tokens"] for k in ("prompt", "completion"))
    found = tree(sample)
    assert list(found) == ["iteration 0", "iteration 1"]
    assert found["iteration 0"]["solution"] == ["info"] * 2
    whole = resolve_sample_attachments(sample, "full")
    [first, *_] = [e for e in whole.events if e.event == "info" and "replies" in e.data]
    assert first.data["replies"][0]["text"].endswith(r"\boxed{42}")
    assert QUESTION in first.data["asked"]


def test_inspects_limit_holds_for_endpoints_of_our_own_too() -> None:
    with server(script=Reasoner(chance=1.0).short()) as endpoint:
        own = method("tmas", way="endpoints", base_url=endpoint.base_url, **SMALL)
        sample = only(run("none/none", own, token_limit=10))
    assert sample.limit is not None
    assert sample.limit.type == "token"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_a_solver_of_its_own_name(name: str) -> None:
    def say(role: str) -> str:
        return r"\boxed{sure}" if role == "value" else says(role)

    log = run(Scripted(say).model(), SOLVERS[name](**SMALL))
    assert log.eval.solver == f"tmas_graph/{name}"
    assert only(log).store["tmas"]["answer"] == "42"


def test_a_method_takes_its_settings_in_brackets() -> None:
    sample = only(run(Scripted().model(), method("self-consistency[candidates=3]")))
    assert len(sample.store["tmas"]["attempts"]) == 3


def test_a_wrong_setting_is_refused_before_anything_runs() -> None:
    with pytest.raises(SettingsError, match="did you mean 'candidates'"):
        method(candidats=3)
    with pytest.raises(SettingsError, match="no 'tmsa'"):
        method("tmsa")
    with pytest.raises(SettingsError, match="Give inspect a --cost-limit"):
        method(max_cost=2.0)
    with pytest.raises(SettingsError, match="Use inspect or endpoints"):
        method(way="mine")  # type: ignore[arg-type]
