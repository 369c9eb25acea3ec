"""Which methods and settings the curves compare, and how large their runs are."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from tmas_graph.methods import METHODS
from tmas_graph.settings import Settings

GRIDS = {
    "epsilon": (0.0, 0.1, 0.4, 0.7, 1.0),
    "candidates": (2, 4, 12),
    "verifications": (1, 2, 4, 16),
}
NOISES = (0.25, 0.5, 0.75, 1.0)
SMALL = "tmas[prompt_set=small]"
TELLING = {
    "methods": (
        "tmas", "tmas-no-experience", "tmas-no-guideline", "tmas-neither",
        "best-of-n", "verify-refine", "rse",
    ),
    "epsilon": (0.0, 0.1, 0.4, 1.0),
}  # fmt: skip
"""What is run where not everything is: checks without banks, a bank without checks, the ε grid."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method under one kind of checks."""

    method: str
    noise: float = 0.0

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.method}, noise {self.noise:g}" if self.noise else self.method


@dataclass(frozen=True, slots=True)
class Size:
    """How large all runs are."""

    candidates: int = 6
    verifications: int = 6
    iterations: int = 8

    def settings(self, seed: int) -> Settings:
        """Those of one run: the published ones, but for its size."""
        return Settings.preset("paper", base_url="http://reasoner", seed=seed, **asdict(self))


@dataclass(frozen=True, slots=True)
class Job:
    """One run that is to be made."""

    entrant: Entrant
    problem: int
    seed: int
    size: Size

    @property
    def key(self) -> str:
        """Names it in the file of results."""
        size = self.size
        shape = f"N{size.candidates} M{size.verifications} T{size.iterations}"
        return f"{self.entrant.name} | {shape} | p{self.problem} | s{self.seed}"


def compared(size: Size, *, whole: bool = True) -> list[Entrant]:
    """TMAS, its ablations and rivals; self-consistency with as many candidates as TMAS."""
    many = min(1024, size.candidates * size.iterations)
    names = METHODS if whole else TELLING["methods"]
    single = ("self-consistency", "chain-of-thought")
    names = [name for name in names if name not in single]
    return [Entrant(name) for name in (*names, f"self-consistency[candidates={many}]")]


def gridded(size: Size, *, whole: bool = True) -> list[Entrant]:
    """TMAS with one setting or its prompts changed, or with worse checks; not as it is anyway."""
    own = {"epsilon": 0.2, **asdict(size)}
    grids = GRIDS if whole else {"epsilon": TELLING["epsilon"]}
    grid = [
        Entrant(f"tmas[{name}={value}]")
        for name, values in grids.items()
        for value in values
        if value != own[name]
    ]
    return [*grid, *(Entrant("tmas", noise) for noise in NOISES), Entrant(SMALL)]


def planned(entrants: Sequence[Entrant], size: Size, problems: int, seeds: int) -> Iterator[Job]:
    """All runs, problem by problem: wherever they end, all entrants have had the same ones."""
    for seed in range(seeds):
        for number in range(problems):
            yield from (Job(entrant, number, seed, size) for entrant in entrants)
