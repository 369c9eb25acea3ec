"""Finds and renders prompt templates, and estimates how long a text is."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tmas_graph.errors import PromptError
from tmas_graph.state import digest

_HERE = Path(__file__).parent
_SHIPPED = (_HERE / "_prompts", _HERE.parent / "prompts")  # in the wheel, in a checkout
_NAMES = (
    "solution_initial",
    "solution_exploit",
    "solution_explore",
    "verification",
    "summary",
    "experience",
    "guideline",
)


class Message(TypedDict):
    """One chat message as OpenAI-compatible servers take it."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates in force: those of `folder` first, else the shipped ones."""

    folder: str | None = None

    def render(self, name: str, **values: object) -> list[Message]:
        """Messages of template `name`, one per block (`system`, `user`).

        Values go in once and are never scanned again: braces, LaTeX and template syntax in them
        reach the model as they are.

        Raises:
            PromptError: no such template, or it uses a name that was not given.
        """
        try:
            template = _environment(self.folder).get_template(f"{name}.md")
            context = template.new_context(values)
            blocks = {
                role: "".join(block(context)).strip() for role, block in template.blocks.items()
            }
        except TemplateNotFound:
            raise PromptError(f"prompts: there is no {name}.md in {self._where()}.") from None
        except TemplateError as error:
            raise PromptError(
                f"prompts: {name}.md in {self._where()}: {error}. Mend the template."
            ) from None
        order = [role for role in ("system", "user") if role in blocks]
        return [{"role": role, "content": blocks[role]} for role in order]

    def hashes(self) -> dict[str, str]:
        """SHA-256 of every template's source, so that a run knows what it was made with."""
        return {name: digest(self._source(name)) for name in _NAMES}

    def _source(self, name: str) -> str:
        environment = _environment(self.folder)
        if environment.loader is None:
            raise PromptError("prompts: no folder to load from.")
        try:
            return environment.loader.get_source(environment, f"{name}.md")[0]
        except TemplateNotFound:
            raise PromptError(f"prompts: there is no {name}.md in {self._where()}.") from None

    def _where(self) -> str:
        return f"{self.folder} or the shipped prompts" if self.folder else "the shipped prompts"


@cache
def _environment(folder: str | None) -> ImmutableSandboxedEnvironment:
    if folder is not None and not Path(folder).is_dir():
        raise PromptError(f"prompts: {folder} is no folder. Create it, or unset prompts_folder.")
    folders = (folder, *_SHIPPED) if folder else _SHIPPED
    environment = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader([FileSystemLoader(f) for f in folders]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["score"] = score_text
    return environment


def score_text(score: float | None) -> str:
    """How a mean score is written in prompts: two digits, or `unknown`."""
    return "unknown" if score is None else f"{score:.2f}"


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` has: three bytes each, rather too many than too few."""
    return len(text.encode("utf-8", "replace")) // 3 + 1


def within(texts: Iterable[str], budget: int) -> int:
    """How many of `texts`, from the first on, fit into `budget` tokens."""
    count = spent = 0
    for text in texts:
        spent += estimate_tokens(text)
        if spent > budget:
            break
        count += 1
    return count
