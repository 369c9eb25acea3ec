"""`tmas solve`: one problem, live."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmas_graph.cli.options import (
    Assignments,
    BaseUrl,
    Candidates,
    Config,
    Epsilon,
    Home,
    Iterations,
    Json,
    LocalModel,
    MaxCalls,
    MaxCost,
    MaxSeconds,
    MaxTotalTokens,
    MethodName,
    ModelName,
    Preset,
    Seed,
    Verifications,
    changes_of,
    home_of,
)
from tmas_graph.errors import ProblemError

if TYPE_CHECKING:
    from tmas_graph.state import Problem

_TEXT_SUFFIXES = (".txt", ".md", ".tex")


def solve(
    problem: Annotated[
        str | None, typer.Argument(help="The problem, a file with it, or - for stdin.")
    ] = None,
    named: Annotated[
        str | None,
        typer.Option(
            "--problem",
            metavar="NAME:ID",
            help="One of a data set, for example gsm8k:test-0001; its answer is graded.",
        ),
    ] = None,
    proof: Annotated[bool, typer.Option("--proof", help="A proof is wanted, no answer.")] = False,
    as_json: Json = False,
    method: MethodName = "tmas",
    preset: Preset = None,
    candidates: Candidates = None,
    verifications: Verifications = None,
    iterations: Iterations = None,
    epsilon: Epsilon = None,
    seed: Seed = None,
    max_calls: MaxCalls = None,
    max_total_tokens: MaxTotalTokens = None,
    max_cost: MaxCost = None,
    max_seconds: MaxSeconds = None,
    assignments: Assignments = None,
    base_url: BaseUrl = None,
    model: ModelName = None,
    local_model: LocalModel = None,
    config: Config = None,
    home: Home = None,
) -> None:
    """Solve one problem, by TMAS or another method; the run is kept and can be resumed."""
    from tmas_graph.cli.session import start
    from tmas_graph.configuration import load
    from tmas_graph.methods import find
    from tmas_graph.state import Problem

    changes = changes_of(
        assignments,
        candidates=candidates,
        verifications=verifications,
        iterations=iterations,
        epsilon=epsilon,
        seed=seed,
        max_calls=max_calls,
        max_total_tokens=max_total_tokens,
        max_cost=max_cost,
        max_seconds=max_seconds,
        base_url=base_url,
        model=model,
        local_model=local_model,
    )
    if (problem is None) == (named is None):
        raise typer.BadParameter("give the problem, or --problem NAME:ID")
    gold = None
    if named is None:
        given = Problem(question_of(problem or ""), kind="proof" if proof else "answer")
    else:
        given, gold = of_data_set(named)
        if proof:
            given, gold = replace(given, kind="proof"), None
    settings = find(method).applied(load(config, preset=preset, changes=changes).settings)
    start(given, settings, home_of(home), as_json=as_json, gold=gold, method=method)


def of_data_set(named: str) -> tuple["Problem", str | None]:
    """The problem that NAME:ID names, with its gold answer where that is known.

    Raises:
        ProblemError: there is no such data set or problem, or a part is missing.
    """
    from tmas_graph.evaluation.datasets import load

    name, colon, problem_id = named.rpartition(":")
    if not colon or not name or not problem_id:
        raise ProblemError(f"--problem: {named!r} isn't NAME:ID. Write, say, gsm8k:test-0001.")
    found = load(name)
    problem = found.problem(problem_id)
    return problem, found.golds.get(problem.id)


def question_of(argument: str) -> str:
    """The text of the problem: from stdin for `-`, from a file if it names one, else itself.

    Raises:
        ProblemError: the file can't be read, or there is no text.
    """
    text = sys.stdin.read() if argument == "-" else _read(argument)
    if not text.strip():
        where = "stdin" if argument == "-" else repr(argument)
        raise ProblemError(f"problem: {where} is empty. Give the text of the problem.")
    return text.strip()


def _read(argument: str) -> str:
    path = Path(argument)
    try:
        if path.is_file():
            return path.read_text(encoding="utf-8")
        folder = path.is_dir()
    except UnicodeDecodeError as error:
        raise ProblemError(
            f"problem: {argument} is no UTF-8 text ({error.reason}). Save it as UTF-8."
        ) from None
    except PermissionError:
        raise ProblemError(f"problem: {argument} may not be read. Check its rights.") from None
    except (OSError, ValueError):
        return argument  # too long or too odd for a path: it is the problem itself
    looks_like_a_file = path.suffix in _TEXT_SUFFIXES and not any(map(str.isspace, argument))
    if argument.strip() and (folder or looks_like_a_file):
        raise ProblemError(f"problem: there is no file {argument}. Check the path.")
    return argument
