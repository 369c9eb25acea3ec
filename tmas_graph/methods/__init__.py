"""The table of methods: TMAS, its ablations, and its rivals on the same engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tmas_graph import graph
from tmas_graph.configuration import adjusted, parse_brackets
from tmas_graph.errors import SettingsError
from tmas_graph.methods import (
    best_of_n,
    chain_of_thought,
    debate,
    own,
    pacore,
    pdr,
    rsa,
    rse,
    self_consistency,
    self_refine,
    solve_verify_correct,
    tree_of_thoughts,
    verify_refine,
)
from tmas_graph.parts.method import Build
from tmas_graph.prompts import NAMES
from tmas_graph.settings import Settings, near

_NO_BANKS = {"experience": False, "guideline": False}
"""Rivals keep none of TMAS's banks, so that no store is opened and no bank's agent need answer."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to solve a problem."""

    title: str
    paper: str
    """Where it was published."""
    build: Build
    """Compiles it; all take the same input and settings, and give a Result."""
    calls: Callable[[Settings], int]
    """Model calls for one problem at most."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings by dotted name that it sets, for ablations and grids."""
    prompts: tuple[str, ...] = ("solution_initial",)
    """The templates that it renders."""

    @property
    def is_tmas(self) -> bool:
        """Whether it is the graph, ablated or not: a finished run of it goes on from its state.

        Other methods are run again from the start; their finished calls come from the thread.
        """
        return self.build is graph.build_graph

    def applied(self, settings: Settings) -> Settings:
        """`settings` with what this method sets.

        Raises:
            SettingsError: a setting doesn't exist or is out of range.
        """
        banks = {} if self.is_tmas else _NO_BANKS
        changes = {**banks, **self.changes}
        return adjusted(settings, changes, "method") if changes else settings


def _tmas_calls(settings: Settings) -> int:
    n, m = settings.candidates, settings.verifications
    banks = settings.experience + settings.guideline
    return settings.iterations * (n * (1 + m) + n + banks)


_PAPER = "arXiv 2605.10344"
_TMAS = Method("TMAS", _PAPER, graph.build_graph, _tmas_calls, prompts=NAMES)
_CHECKED = ("solution_initial", "verification")
_COMBINED = ("solution_initial", "methods/combine")
_LOOP = Method(
    "Solve, verify, correct",
    "arXiv 2507.15855",
    solve_verify_correct.build,
    solve_verify_correct.calls,
    prompts=(*_CHECKED, "methods/improve", "methods/refine"),
)
_MARSRL = {
    f"methods.solve_verify_correct.{name}": value
    for name, value in {"accept": 4, "rounds": 10, "improve": False}.items()
}

METHODS: dict[str, Method] = {
    "tmas": _TMAS,
    "tmas-no-experience": replace(
        _TMAS, title="TMAS without experience bank", changes={"experience": False}
    ),
    "tmas-no-guideline": replace(
        _TMAS, title="TMAS without guideline bank", changes={"guideline": False}
    ),
    "tmas-neither": replace(
        _TMAS, title="TMAS without banks", changes={"experience": False, "guideline": False}
    ),
    "chain-of-thought": Method(
        "Chain of thought", "arXiv 2201.11903", chain_of_thought.build, chain_of_thought.calls
    ),
    "self-consistency": Method(
        "Self-consistency", "arXiv 2203.11171", self_consistency.build, self_consistency.calls
    ),
    "best-of-n": Method(
        "Best-of-N", "arXiv 2110.14168", best_of_n.build, best_of_n.calls, prompts=_CHECKED
    ),
    "tree-of-thoughts": Method(
        "Tree of thoughts",
        "arXiv 2305.10601",
        tree_of_thoughts.build,
        tree_of_thoughts.calls,
        prompts=("methods/thought", "methods/value"),
    ),
    "self-refine": Method(
        "Self-refine",
        "arXiv 2303.17651",
        self_refine.build,
        self_refine.calls,
        prompts=(*_CHECKED, "methods/refine"),
    ),
    "verify-refine": Method(
        "Verify-refine",
        "arXiv 2511.22570",
        verify_refine.build,
        verify_refine.calls,
        prompts=("verification", "methods/self_graded", "methods/refine", "methods/audit"),
    ),
    "solve-verify-correct": _LOOP,
    "marsrl": replace(_LOOP, title="MarsRL's loop", paper="arXiv 2511.11373", changes=_MARSRL),
    "pacore": Method("PaCoRe", "arXiv 2601.05593", pacore.build, pacore.calls, prompts=_COMBINED),
    "rse": Method(
        "RSE",
        "arXiv 2601.21684",
        rse.build,
        rse.calls,
        prompts=("solution_initial", "methods/guided", "methods/distil"),
    ),
    "rsa": Method(
        "Recursive self-aggregation", "arXiv 2509.26626", rsa.build, rsa.calls, prompts=_COMBINED
    ),
    "pdr": Method(
        "Parallel, distil, refine",
        "arXiv 2510.01123",
        pdr.build,
        pdr.calls,
        prompts=(*_COMBINED, "methods/condense", "methods/noted", "methods/pick"),
    ),
    "debate": Method(
        "Multi-agent debate",
        "arXiv 2305.14325",
        debate.build,
        debate.calls,
        prompts=("solution_initial", "methods/debate", "methods/condense"),
    ),
}
"""By name; `find` takes settings in brackets after one, too."""


def find(name: str) -> Method:
    """The method of this name, as in `tmas`, `tmas[epsilon=0.5]` or `best-of-n[candidates=16]`.

    `my_module:mine` is the Method `mine` of a module that can be imported, also from the working
    directory.

    Raises:
        SettingsError: there is none, or what stands in brackets is no setting of its.
    """
    plain, bracket, inside = name.partition("[")
    found = _of_plain_name(plain)
    if not bracket:
        return found
    if not inside.endswith("]"):
        raise SettingsError(f"method: {name!r} lacks its last bracket. Write {plain}[name=value].")
    changes = parse_brackets(inside[:-1])
    if "preset" in changes:
        raise SettingsError(
            "method: a preset can't stand in brackets, as it is for all methods. Give --preset."
        )
    changed = replace(
        found, title=f"{found.title}, {inside[:-1]}", changes={**found.changes, **changes}
    )
    changed.applied(Settings())  # to refuse a wrong one here, not in the midst of a comparison
    return changed


def names() -> tuple[str, ...]:
    """The names of all methods there are, those that installed packages bring after ours."""
    return tuple(dict.fromkeys((*METHODS, *own.brought())))


def _of_plain_name(name: str) -> Method:
    if name in METHODS:
        return METHODS[name]
    if ":" in name:
        found = own.imported(name)
    elif name in own.brought():
        found = own.loaded(name)
    else:
        raise SettingsError(
            f"method: there is no {name!r}{near(name, names())}. `tmas methods` lists them."
        )
    if isinstance(found, Method):
        return found
    raise SettingsError(
        f"method: {name} is a {type(found).__name__}, not a Method. Make one of it: "
        "tmas_graph.methods.Method(title, paper, build, calls)."
    )
