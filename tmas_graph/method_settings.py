"""What single methods do differently from others; the defaults are the published ones.

Where a published default is a defect, the right behaviour is the default here, and the published
one can be asked for.
"""

from typing import Annotated, Literal

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


Count = Annotated[int, Field(ge=1, le=1024)]


class PaCoRe(Frozen):
    """PaCoRe."""

    rounds: tuple[Count, ...] = Field((), max_length=100)
    """Candidates of each round, as in [32, 4]; empty: one round of N. One more answers."""


class Rse(Frozen):
    """RSE."""

    merge: Literal["guards", "published"] = "guards"
    """When two items of the bank are one: as in TMAS; or by substring or cosine above 0.8."""


class Rsa(Frozen):
    """Recursive self-aggregation."""

    aggregated: int = Field(4, ge=1, le=1024)
    """K: how many of the population, drawn at random, each of the next one sees."""
    choose: Literal["majority", "mean"] = "majority"
    """Most of the last population; or one of it, right as often as their mean says."""


class Pdr(Frozen):
    """Parallel, distil, refine."""

    drafts: tuple[Count, ...] = Field((8, 4, 1), min_length=1, max_length=100)
    """Drafts of each round."""
    workspace: Literal["summary", "top-k", "random-k"] = "summary"
    """What drafts see of the round before: notes, the best drafts, or some at random."""
    kept: int = Field(4, ge=1, le=1024)
    """K of top-k and random-k."""


class Debate(Frozen):
    """Multi-agent debate."""

    agents: int = Field(3, ge=1, le=1024)
    """How many debate."""
    rounds: int = Field(2, ge=1, le=100)
    """How often each answers."""


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
    pacore: PaCoRe = PaCoRe()
    """PaCoRe."""
    rse: Rse = Rse()
    """RSE."""
    rsa: Rsa = Rsa()
    """Recursive self-aggregation."""
    pdr: Pdr = Pdr()
    """Parallel, distil, refine."""
    debate: Debate = Debate()
    """Multi-agent debate."""
