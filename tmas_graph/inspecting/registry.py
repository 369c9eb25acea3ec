"""What `inspect eval tmas_graph/…` finds: the package's entry point for inspect_ai."""

from tmas_graph.inspecting.scorers import accuracy, candidates, grader, stderr, verdicts
from tmas_graph.inspecting.solvers import SOLVERS, method
from tmas_graph.inspecting.tasks import TASKS, problems

__all__ = [
    "SOLVERS",
    "TASKS",
    "accuracy",
    "candidates",
    "grader",
    "method",
    "problems",
    "stderr",
    "verdicts",
]
