"""TMAS and its rivals for LangGraph Studio and `langgraph dev`, with this place's settings.

The server brings its own checkpointer, so they are compiled without one. What tmas.toml and
the environment say is read once, when the server loads this file.
"""

from collections.abc import Mapping
from typing import Any, Self

from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from pydantic import GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tmas_graph.channels import State
from tmas_graph.configuration import load_settings, plain
from tmas_graph.graph import build_graph
from tmas_graph.methods import METHODS
from tmas_graph.serde import restoring
from tmas_graph.settings import ALL_ROLES, Settings
from tmas_graph.state import Input, Output

_PLACE = load_settings()


class SettingsHere(Settings):
    """Settings whose defaults are this place's; Studio shows them as a form, without keys.

    Keys are among the defaults, but are neither shown nor stored.
    """

    @model_validator(mode="before")
    @classmethod
    def _on_top_of_this_place(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        place = plain(_PLACE)
        if given.get("base_url", _PLACE.base_url) != _PLACE.base_url:
            for role in place["roles"].values():  # a role's own key is for the shared server, too
                role["api_key"] = role["api_key"] if role["base_url"] else None
        return _merged(place, given)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Show this place's values as defaults."""
        schema = handler(core_schema)
        fields = handler.resolve_ref_schema(schema)["properties"]
        for name, value in _PLACE.model_dump(mode="json").items():
            fields[name]["default"] = value
        return schema


def _merged(place: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` on top of `place`; a key of this place never goes to another server."""
    merged = {**place, **given}
    for name in ("roles", *ALL_ROLES, "embeddings"):
        if isinstance(place.get(name), Mapping) and isinstance(given.get(name), Mapping):
            merged[name] = _merged(place[name], given[name])
    if "base_url" in given and given["base_url"] != place.get("base_url"):
        merged["api_key"] = given.get("api_key")
    return merged


class Served(CompiledStateGraph[State, Settings, Input, Output]):
    """The graph as a server takes it: in a copy for each request, with its own checkpointer."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Let that checkpointer restore the state's types; LangGraph's copy forgets them."""
        return super().copy(_restoring(self, update))


class ServedMethod(Pregel[Any, Settings, Input, Output]):
    """Another method as a server takes it."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """As the graph's copy."""
        return super().copy(_restoring(self, update))


def _restoring(served: Pregel[Any, Any, Any, Any], update: dict[str, Any] | None) -> dict[str, Any]:
    changes = dict(update or {})
    changes["checkpointer"] = restoring(changes.get("checkpointer", served.checkpointer))
    return changes


def served(name: str) -> ServedMethod:
    """The rival method of this name, as langgraph.json names it."""
    workflow = METHODS[name].build(context_schema=SettingsHere)
    return ServedMethod(**{k: v for k, v in vars(workflow).items() if k != "__orig_class__"})


graph = Served(**vars(build_graph(context_schema=SettingsHere)))
chain_of_thought = served("chain-of-thought")
self_consistency = served("self-consistency")
best_of_n = served("best-of-n")
tree_of_thoughts = served("tree-of-thoughts")
self_refine = served("self-refine")
verify_refine = served("verify-refine")
solve_verify_correct = served("solve-verify-correct")
pacore = served("pacore")
rse = served("rse")
rsa = served("rsa")
pdr = served("pdr")
debate = served("debate")
