"""What single methods do differently from others; the defaults are the published ones.

Where a published default is a defect, the right behaviour is the default here, and the published
one can be asked for.
"""

from typing import Literal

from pydantic import Field

from tmas_graph.endpoint_settings import Frozen


class BestOfN(Frozen):
    """Best-of-N with a judge."""

    choose: Literal["best", "weighted"] = "best"
    """The highest mean score, or scores summed over equal answers."""


class SelfRefine(Frozen):
    """Self-refine."""

    choose: Literal["last", "best"] = "last"
    """The last version, as published; or the best by its critics' scores."""
    stop_by_substring: bool = False
    """Stop as published, on the words "it is correct" anywhere, "not" before them or not."""


class VerifyRefine(Frozen):
    """Verify-refine, as of DeepSeekMath-V2."""

    refined: int = Field(32, ge=1, le=1024)
    """How many of the pool's best are refined in an iteration."""
    reviews_shown: int = Field(8, ge=1, le=1024)
    """How many reviews a refinement sees, the worst first."""
    least_reviews: int = Field(4, ge=1, le=1024)
    """How many parsed reviews a mean of 1 needs to end the run, at most M; published: 1."""
    meta_verification: bool = False
    """Audit the reviews that score 0.75 or less, and show only those that hold first."""


class SolveVerifyCorrect(Frozen):
    """The solve-verify-correct loop, as of IMO25."""

    improve: bool = True
    """Let the solver improve its first solution before it is verified."""
    accept: int = Field(5, ge=1, le=100)
    """Checks in a row that must pass."""
    reject: int = Field(10, ge=1, le=100)
    """Checks in a row that fail until the run is given up."""
    rounds: int = Field(30, ge=1, le=1000)
    """Checks at most."""


class TreeOfThoughts(Frozen):
    """Tree of thoughts, breadth first."""

    breadth: int = Field(5, ge=1, le=1024)
    """Partial solutions that are kept at each depth."""
    children: int = Field(3, ge=1, le=1024)
    """Next steps that are sampled for each of them."""
    depth: int = Field(4, ge=1, le=100)
    """Steps at most."""
    values: int = Field(3, ge=1, le=100)
    """Samples of the value of each partial solution."""


class Methods(Frozen):
    """What holds for one method alone."""

    best_of_n: BestOfN = BestOfN()
    """Best-of-N."""
    self_refine: SelfRefine = SelfRefine()
    """Self-refine."""
    verify_refine: VerifyRefine = VerifyRefine()
    """Verify-refine."""
    solve_verify_correct: SolveVerifyCorrect = SolveVerifyCorrect()
    """The solve-verify-correct loop."""
    tree_of_thoughts: TreeOfThoughts = TreeOfThoughts()
    """Tree of thoughts."""
