"""Finds and renders prompt templates, and estimates how long a text is."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Self, TypedDict

from jinja2 import (
    ChoiceLoader,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    meta,
)
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tmas_graph.errors import PromptError
from tmas_graph.settings import PromptSet, Settings
from tmas_graph.state import digest

_HERE = Path(__file__).parent
_SHIPPED = (_HERE / "_prompts", _HERE.parent / "prompts")  # in the wheel, in a checkout
_HEADING = re.compile(r"(^|[\n\r\x0b\x0c\x85\u2028\u2029])([^\S\n\r]{0,3}#{1,6})(?=\s|\Z)")
"""At the beginning of anything that a reader may take for a line."""
_FAULTS = (TemplateError, TypeError, ValueError, ArithmeticError, OSError)
NAMES = (
    "solution_initial",
    "solution_exploit",
    "solution_explore",
    "verification",
    "summary",
    "experience",
    "guideline",
)
"""The templates of TMAS."""


class Message(TypedDict):
    """One chat message as OpenAI-compatible servers take it."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages, and how to say less where they don't fit into a model's context."""

    messages: list[Message]
    cut: Mapping[str, int] = field(default_factory=dict)
    """What was left out already, for example {"solutions": 3}."""
    smaller: "Callable[[int], Prompt | None]" = lambda tokens: None
    """Gives a prompt that is about so many tokens shorter, or as short as it can be; or None."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates in force: those of `folder` first, else the shipped set."""

    folder: str | None = None
    set: PromptSet = "standard"

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The templates that `settings` ask for."""
        return cls(settings.prompts_folder, settings.prompt_set)

    def render(self, name: str, **values: object) -> list[Message]:
        """Messages of template `name`, one per block, in the order of the blocks.

        A block's name says whose message it is: `system`, `user`, or with a number, as in
        `user_1` and `assistant_1`, a turn of an example that precedes the `user` block.

        Values go in once and are never scanned again: braces, LaTeX and template syntax in them
        reach the model as they are.

        Raises:
            PromptError: no such template, it has no user block, or it can't be rendered: it uses
                a name that was not given, or its syntax is wrong.
        """
        try:
            template = _environment(self.folder, self.set).get_template(f"{name}.md")
            context = template.new_context(values)
            _take_in_parents(template, context)
            blocks = {name: "".join(b[0](context)).strip() for name, b in context.blocks.items()}
        except TemplateNotFound as error:
            raise self._missing(error) from None
        except _FAULTS as error:
            raise self._faulty(name, error) from None
        if not blocks.get("user"):
            raise self._faulty(name, 'it says nothing in "{% block user %}"')
        order = sorted((name for name in blocks if blocks[name]), key=_turn)
        return [{"role": name.partition("_")[0], "content": blocks[name]} for name in order]

    def hashes(self, names: Iterable[str] = NAMES) -> dict[str, str]:
        """SHA-256 of each template with all that it includes, so that a run knows its prompts.

        Raises:
            PromptError: a template is missing, or its syntax is wrong.
        """
        return {name: digest(*self._sources(f"{name}.md")) for name in names}

    def _sources(self, file: str) -> list[str]:
        environment = _environment(self.folder, self.set)
        assert environment.loader is not None, "_environment gives it one"
        try:
            source = environment.loader.get_source(environment, file)[0]
            parts = _included(environment, source)
        except TemplateNotFound as error:
            raise self._missing(error) from None
        except _FAULTS as error:
            raise self._faulty(file.removesuffix(".md"), error) from None
        return [source, *(text for part in parts for text in self._sources(part))]

    def _missing(self, error: TemplateNotFound) -> PromptError:
        return PromptError(f"prompts: there is no {error.name} in {self._where()}. Add it.")

    def _faulty(self, name: str, what: object) -> PromptError:
        return PromptError(f"prompts: {name}.md in {self._where()}: {what}. Mend the template.")

    def _where(self) -> str:
        return f"{self.folder} or the shipped prompts" if self.folder else "the shipped prompts"


def _take_in_parents(template: Template, context: Context) -> None:
    """Let `context` have the blocks of the templates that `template` extends, and what they set.

    Only rendering the whole does that; its own blocks are silent then, as they are wanted one by
    one and would be rendered twice.
    """
    own = dict(context.blocks)
    context.blocks.update({name: [_silent] for name in own})
    deque(template.root_render_func(context), maxlen=0)
    for name, mine in own.items():
        context.blocks[name][:1] = mine


def _silent(context: Context) -> Iterator[str]:
    return iter(())


def _turn(block: str) -> tuple[int, int, str]:
    """Sorts blocks: system first, then the examples' turns by number, then the user."""
    role, _, number = block.partition("_")
    if not number:
        return (0 if role == "system" else 2), 0, ""
    return 1, int(number) if number.isdigit() else 0, "user" if role == "user" else "~" + role


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, which needn't think about the fields of our own records each time."""

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Whether a template may read `attr` of `obj`."""
        own = not attr.startswith("_") and attr in getattr(type(obj), "__dataclass_fields__", ())
        return own or super().is_safe_attribute(obj, attr, value)


@cache
def _environment(folder: str | None, prompt_set: PromptSet) -> ImmutableSandboxedEnvironment:
    if folder is not None and not Path(folder).is_dir():
        raise PromptError(f"prompts: {folder} is no folder. Create it, or unset prompts_folder.")
    # What the small set lacks, as it does rival methods, is taken from the standard one.
    small = tuple(place / "small" for place in _SHIPPED) if prompt_set == "small" else ()
    shipped = (*small, *_SHIPPED)
    folders: tuple[str | Path, ...] = (folder, *shipped) if folder else shipped
    environment = _Environment(
        loader=ChoiceLoader([FileSystemLoader(f) for f in folders]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["score"] = score_text
    environment.filters["unboxed"] = unboxed
    environment.filters["nested"] = nested
    return environment


@lru_cache(256)
def _included(environment: ImmutableSandboxedEnvironment, source: str) -> tuple[str, ...]:
    # To parse all templates takes as long as ten calls, and every thread is told their hashes.
    found = meta.find_referenced_templates(environment.parse(source))
    return tuple(sorted(filter(None, found)))


def score_text(score: float | None) -> str:
    """How a mean score is written in prompts: two digits, or `unknown`."""
    return "unknown" if score is None else f"{score:.2f}"


def unboxed(text: str, instead: str = r"The answer is \1.") -> str:
    r"""`text` with `instead` for each `\boxed{…}`: small models copy any box that they see."""
    return re.sub(r"\\boxed\{([^{}]*)\}", instead, text).strip()


def nested(text: str) -> str:
    """`text` with its Markdown headings two levels down: prompts have none below the second.

    Solutions have headings of their own, and one may read like those of a prompt ("# Your task").
    A fence or a quote would be imitated by models, could be closed by the text itself, and would
    cost tokens. So the text stays as it is, and its headings become what they are: parts of what
    it stands under, in their order among each other.
    """
    return _HEADING.sub(r"\1\2##", text) if "#" in text else text


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` has: three bytes each, rather too many than too few."""
    return len(text.encode("utf-8", "replace")) // 3 + 1
