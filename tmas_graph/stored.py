"""What checkpoints hold says how it is written."""

from typing import Any


class Stored:
    """A dataclass that a checkpoint may hold."""

    __slots__ = ()

    def _asdict(self) -> dict[str, Any]:
        """Give the fields by name.

        LangGraph's serializer writes what has this method as it would any dataclass, byte for
        byte, but finds out at once, and not after a dozen questions, one of them slow.
        """
        fields: dict[str, Any] = self.__dataclass_fields__  # type: ignore[attr-defined]
        return {name: getattr(self, name) for name in fields}
