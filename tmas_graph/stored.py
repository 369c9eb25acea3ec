"""What checkpoints hold says how it is written."""

from typing import Any


def by_name(record: Any) -> dict[str, Any]:
    """The fields of a dataclass by name; their values as they are, where `asdict` copies them."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


class Stored:
    """A dataclass that a checkpoint may hold."""

    __slots__ = ()

    def _asdict(self) -> dict[str, Any]:
        """Give the fields by name.

        LangGraph's serializer writes what has this method as it would any dataclass, byte for
        byte, but finds out at once, and not after a dozen questions, one of them slow.
        """
        return by_name(self)
