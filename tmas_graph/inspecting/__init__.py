"""TMAS in inspect_ai: methods are solvers, the grader a scorer, data sets tasks, runs logs."""

from importlib.util import find_spec

from tmas_graph.errors import MissingExtra

if find_spec("inspect_ai") is None:
    raise MissingExtra('inspect_ai isn\'t installed. Run: pip install "tmas-graph[inspect]"')
