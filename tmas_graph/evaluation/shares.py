"""What several processes may share: the limits of endpoints, not a memory or a local model."""

from typing import Any

from tmas_graph.errors import SettingsError
from tmas_graph.settings import Settings

_LIMITS = ("concurrency", "requests_per_minute", "tokens_per_minute")


def most_workers(settings: Settings) -> int:
    """Among how many processes the limits can be shared, so that each has something."""
    ends = [settings.endpoint(role) for role in settings.roles_in_use]
    limits: list[int | None] = [getattr(end, name) for end in ends for name in _LIMITS]
    return min(limit for limit in limits if limit is not None)


def share(settings: Settings, workers: int) -> Settings:
    """`settings` with one of `workers` equal shares of each limit; a rest is left unused."""
    roles = {
        role: given.model_copy(update=_shares(given, workers))
        for role in type(settings.roles).model_fields
        if (given := getattr(settings.roles, role)) is not None
    }
    update: dict[str, Any] = {"roles": settings.roles.model_copy(update=roles)}
    return settings.model_copy(update={**_shares(settings, workers), **update})


def refuse_unshared(settings: Settings) -> None:
    """Refuse what only one process can have.

    Raises:
        SettingsError: a local model, a memory folder, or experience that problems share.
    """
    if any(settings.endpoint(role).base_url is None for role in settings.roles_in_use):
        raise SettingsError(
            "--executor ray: a local model serves one process. Set base_url to a server that all "
            "machines reach."
        )
    if not settings.experience or settings.memory_server is not None:
        return
    if settings.memory_folder is not None or settings.memory_scope != "problem":
        name = "memory_scope" if settings.memory_folder is None else "memory_folder"
        raise SettingsError(
            f"--executor ray: {name} is {getattr(settings, name)!r}, and a folder has one writer. "
            "Set memory_server to a Chroma server."
        )


def _shares(given: Any, workers: int) -> dict[str, int]:
    limits = {name: getattr(given, name) for name in _LIMITS}
    return {name: max(1, limit // workers) for name, limit in limits.items() if limit is not None}
