"""What of an evaluation can be compared: the problems whose right answer is known."""

from dataclasses import replace

from tmas_graph.errors import SettingsError
from tmas_graph.evaluation.tracks import listed
from tmas_graph.evaluation.uniting import Evaluation, MethodRun


def graded_only(evaluation: Evaluation) -> Evaluation:
    """`evaluation` without the problems that have no gold answer, and a note of them.

    Raises:
        SettingsError: none has one.
    """
    methods, notes = dict[str, MethodRun](), list(evaluation.notes)
    for name, run in evaluation.methods.items():
        kept = graded(run)
        if not kept.rows:
            raise SettingsError(
                f"compare: none of the problems of {name} has a gold answer, so that nothing can "
                "be called right. Name its field with --answer-key in another run."
            )
        if ungraded := [problem for problem in run.rows if problem not in kept.rows]:
            notes.append(f"{name}: {listed(ungraded)}: no gold answer, and isn't counted")
        methods[name] = kept
    return replace(evaluation, methods=methods, notes=tuple(notes))


def graded(run: MethodRun) -> MethodRun:
    """`run` at the problems whose right answer was known."""
    rows = {p: many for p, many in run.rows.items() if all(row.is_graded for row in many)}
    left_out = run.rows.keys() - rows.keys()
    asked = tuple(problem for problem in run.setup.problems if problem not in left_out)
    return replace(run, rows=rows, setup=replace(run.setup, problems=asked))
