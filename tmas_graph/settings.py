"""Every knob with the default that runs, the presets, and which endpoint serves which role."""

import difflib
from collections.abc import Mapping
from itertools import product
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, Field, ValidationError, model_validator

from tmas_graph.endpoint_settings import Endpoint, Frozen, Override
from tmas_graph.errors import SettingsError
from tmas_graph.memory_settings import Memories
from tmas_graph.method_settings import Methods

Role = Literal["solution", "verification", "summary", "experience", "guideline"]
AnyRole = Literal[Role, "judge"]
PromptSet = Literal["standard", "small"]
ROLES: tuple[Role, ...] = get_args(Role)
"""The five agents of the graph."""
ALL_ROLES: tuple[AnyRole, ...] = (*ROLES, "judge")
"""With the judge, which is asked only if `judge` is on."""
_LIMITS = ("concurrency", "requests_per_minute", "tokens_per_minute")
"""What holds for a server as a whole, whichever roles use it."""


class Roles(Frozen):
    """What single agents do differently from the rest."""

    solution: Override = Override()
    """Writes candidates."""
    verification: Override = Override()
    """Checks candidates."""
    summary: Override = Override()
    """Condenses checks."""
    experience: Override = Override()
    """Keeps the experience bank."""
    guideline: Override = Override()
    """Keeps the guideline bank."""
    judge: Override = Override()
    """Compares answers that rules can't; greedy unless its temperature is set."""


class Settings(Memories, Endpoint):
    """How one run of TMAS behaves; the endpoint fields hold for all roles."""

    candidates: int = Field(4, ge=1, le=1024)
    """N: candidates per iteration."""
    verifications: int = Field(4, ge=1, le=1024)
    """M: independent checks per candidate."""
    iterations: int = Field(4, ge=1, le=1000)
    """T: iterations at most."""
    epsilon: float = Field(0.2, ge=0, le=1)
    """ε: probability that a candidate explores instead of exploiting."""
    mode_draws: Literal["bernoulli", "stratified"] = "bernoulli"
    """A coin per candidate, or a fixed share of explorers in every iteration."""
    seed: int = Field(0, ge=0, le=2**31 - 1)
    """Seeds mode draws and sampling; the same seed gives the same draws."""
    score_power: float = Field(4.0, gt=0, le=16)
    """Power of a candidate's mean score in its vote for an answer; 1: the score as it is."""
    early_stop: bool = True
    """Stop once the leading answer is well ahead and well verified."""
    early_stop_share: float = Field(0.8, gt=0, le=1)
    """Early stop: least share of all scores that the leading answer holds."""
    early_stop_score: float = Field(0.9, gt=0, le=1)
    """Early stop: least mean score of the leading answer."""
    early_stop_iterations: int = Field(2, ge=1)
    """Early stop: for how many iterations in a row."""
    max_calls: int | None = Field(None, ge=1, le=10**12)
    """Budget of requests per problem, failed ones included; checked before each call."""
    max_total_tokens: int | None = Field(None, ge=1, le=10**15)
    """Budget of tokens per problem, prompts included; checked before each call."""
    max_cost: float | None = Field(None, gt=0)
    """Budget of money per problem, in the currency of `prices`; checked before each call."""
    max_seconds: float | None = Field(None, gt=0)
    """Budget of time per problem; calls in flight when it is over are given up."""
    rollouts_tokens: int = Field(24_000, ge=100)
    """Most tokens of earlier rollouts in one prompt; the worst solutions are left out first."""
    prompts_folder: str | None = Field(None, min_length=1)
    """Folder of templates that replace the shipped ones of the same name."""
    prompt_set: PromptSet = "standard"
    """`small`: short prompts with worked examples, for models of less than about a billion."""
    judge: bool = False
    """Ask a judge model about answers that rules can't compare with the reference answer."""
    roles: Roles = Roles()
    """Other endpoints, models or sampling for single agents."""
    methods: Methods = Methods()
    """What holds for single methods alone."""

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The settings of preset `name`, with `changes` on top.

        Raises:
            SettingsError: no such preset, or a setting that doesn't exist or is out of range.
        """
        return cls.checked({**preset_values(name), **changes})

    @classmethod
    def checked(cls, values: dict[str, Any], origins: Mapping[str, str] | None = None) -> Self:
        """Settings from plain values; `origins` says by dotted name where each came from.

        Raises:
            SettingsError: a setting doesn't exist or is out of range, in one line.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(explain(error, cls, origins or {})) from None

    @model_validator(mode="after")
    def _one_limit_a_server(self) -> Self:
        servers: dict[tuple[str, str], dict[str, Endpoint]] = {_server(self): {"all": self}}
        for role in ALL_ROLES:
            endpoint = self.endpoint(role)
            servers.setdefault(_server(endpoint), {})[role] = endpoint
        for sharing in servers.values():
            (first, one), *others = sharing.items()
            for (sharer, other), name in product(others, _LIMITS):
                mine, theirs = getattr(other, name), getattr(one, name)
                if mine != theirs:
                    raise ValueError(
                        f"roles.{sharer}.{name} is {mine}, but {theirs} for {first}, at the same "
                        f"server. Set {name} once for all, or give the role a base_url of its own"
                    )
        return self

    @property
    def roles_in_use(self) -> tuple[AnyRole, ...]:
        """The roles whose endpoints must answer."""
        off = {"experience": not self.experience, "guideline": not self.guideline}
        off["judge"] = not self.judge
        return tuple(role for role in ALL_ROLES if not off.get(role))

    def endpoint(self, role: AnyRole) -> Endpoint:
        """The endpoint of `role`: what holds for all, with what this role does differently."""
        override: Override = getattr(self.roles, role)
        shared = {name: getattr(self, name) for name in Endpoint.model_fields}
        own = {n: v for n in Override.model_fields if (v := getattr(override, n)) is not None}
        if role == "judge":
            shared["temperature"] = 0.0
        if "base_url" in own and own["base_url"] != self.base_url and "api_key" not in own:
            shared["api_key"] = None  # a key never goes to another server than its own
        return Endpoint(**{**shared, **own})


def _server(endpoint: Endpoint) -> tuple[str, str]:
    return endpoint.base_url or f"local model {endpoint.local_model}", endpoint.key()


_SCORED = r'''root ::= [^\\]{0,120} "\\boxed{" ("1" | "0.5" | "0") "}"'''
"""Makes llama.cpp end every check with a score, which its smallest models forget."""

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {},
    "paper": {
        "candidates": 8,
        "verifications": 8,
        "iterations": 20,
        "epsilon": 0.2,
        "early_stop": False,
        "rollouts_tokens": 90_000,
        "experience_tokens": 8_000,
        "guideline_tokens": 4_000,
        "concurrency": 800,
    },
    "local": {
        "candidates": 3,
        "verifications": 3,
        "iterations": 2,
        "epsilon": 0.34,
        "mode_draws": "stratified",
        "early_stop": False,
        "max_tokens": 96,
        "rollouts_tokens": 300,
        "experience_tokens": 120,
        "guideline_tokens": 120,
        "concurrency": 4,
        "prompt_set": "small",
        "roles": {
            "verification": {
                "temperature": 0.3,
                "max_tokens": 80,
                "extra_body": {"grammar": _SCORED},
            },
            "summary": {"temperature": 0.3},
        },
    },
}
"""What each preset changes from the defaults.

`paper`: N 8, M 8, T 20, ε 0.2, no early stop. `local`: made for the small local model.
"""


def preset_values(name: str) -> dict[str, Any]:
    """What preset `name` sets.

    Raises:
        SettingsError: no such preset.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise SettingsError(
            f"preset: there is no {name!r}{near(str(name), PRESETS)}. "
            f"The presets are {', '.join(PRESETS)}."
        )
    return PRESETS[name]


def near(word: str, known: Any) -> str:
    """` (did you mean 'x'?)` if a known word is close, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""


def explain(error: ValidationError, model: type[BaseModel], origins: Mapping[str, str]) -> str:
    """The first fault that pydantic found, as one line that says what to do."""
    fault = error.errors(include_url=False, include_input=False)[0]
    path = [str(part) for part in fault["loc"]]
    name = ".".join(path)
    known_as = [".".join(path[:length]) for length in range(len(path), 0, -1)]
    inner = [origin for n, origin in origins.items() if n.startswith(f"{name}.")]
    outer = [origins[n] for n in known_as if n in origins]
    where = next((o for o in (*outer, *inner) if o != "default"), "settings")
    if fault["type"] == "extra_forbidden":
        known = _fields_at(model, path[:-1])
        hint = near(path[-1], known) or f"; known here: {', '.join(sorted(known))}"
        return f"{where}: there is no {name!r}{hint}. `tmas settings` lists them all."
    what = fault["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    if not path:  # of several settings together, which it names
        return f"{where}: {what}."
    return f"{where}: {name}: {what}{_seen(error, path)}. Change it."


def _fields_at(model: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        *_, inner = get_args(annotation) or (annotation,)  # of a mapping, what it maps to
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
    return list(model.model_fields)


def _seen(error: ValidationError, path: list[str]) -> str:
    if "api_key" in path:
        return ""
    value = error.errors(include_url=False)[0].get("input")
    if path[-1:] == ["base_url"] and "@" in str(value):
        return ""  # it holds a password
    return f", but {value!r} was given" if isinstance(value, str | int | float | bool) else ""
