"""What the two memories are, where they are kept, and what of them is shown."""

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic.json_schema import SkipJsonSchema

from tmas_graph.endpoint_settings import Frozen, Url

Scope = Literal["problem", "run", "library"]
Retrieval = Literal["similar", "all"]


class Embeddings(Frozen):
    """What turns items into vectors; with nothing set, they are hashed, without any model."""

    base_url: Url | None = None
    """OpenAI-compatible server with /embeddings, for example http://127.0.0.1:8001/v1."""
    model: str | None = Field(None, min_length=1)
    """Name of the served embedding model."""
    api_key: SkipJsonSchema[SecretStr | None] = Field(None, exclude=True)
    """Never printed, logged or stored; set TMAS_EMBEDDINGS__API_KEY in the environment."""
    folder: str | None = Field(None, min_length=1)
    """Folder of a sentence-transformers model (extra `embeddings`)."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.base_url and self.folder:
            raise ValueError("base_url and folder are both set; choose one")
        if bool(self.base_url) != bool(self.model):
            raise ValueError("base_url and model belong together; set both")
        return self

    def key(self) -> str:
        """The secret itself; never stored or shown."""
        return self.api_key.get_secret_value() if self.api_key else ""


class Memories(Frozen):
    """The experience bank and the guideline bank."""

    experience: bool = True
    """Keep an experience bank, and show it to candidates that exploit; off: no call is made."""
    guideline: bool = True
    """Keep a guideline bank, and show it to candidates that explore; off: no call is made."""
    dedup: bool = True
    """Take an item or strategy in only if the bank doesn't say it already; off: only the same."""
    retrieval: Retrieval = "similar"
    """Which items are shown: those nearest to problem and flaws that fit, or `all` items."""
    experience_tokens: int = Field(4_000, ge=50)
    """Most tokens of retrieved experience in one prompt."""
    guideline_tokens: int = Field(2_000, ge=50)
    """Tokens of the guideline list in one prompt; names are shown even beyond them."""
    memory_scope: Scope = "problem"
    """`run`, `library`: techniques and pitfalls of other problems of this run, or of all runs."""
    run_name: str = Field("", max_length=200)
    """Names the run whose problems share what they learn, where memory_scope is `run`."""
    memory_folder: str | None = Field(None, min_length=1)
    """Chroma folder of the experience bank; none: in memory, or beside the thread's state."""
    memory_server: Url | None = None
    """Chroma server of the experience bank, which several processes may share."""
    embeddings: Embeddings = Embeddings()
    """What turns items into vectors."""

    @property
    def experience_limit(self) -> int | None:
        """Most tokens of experience in one prompt; None where all items are shown."""
        return None if self.retrieval == "all" else self.experience_tokens

    @model_validator(mode="after")
    def _a_run_has_a_name(self) -> Self:
        if self.memory_scope == "run" and not self.run_name:
            raise ValueError("memory_scope is run, but no run_name is given. Set run_name")
        return self
