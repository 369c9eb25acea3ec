"""What of an endpoint's limits one of several processes may use."""

from typing import Any

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


def _shares(given: Any, workers: int) -> dict[str, int]:
    limits = {name: getattr(given, name) for name in _LIMITS}
    return {name: max(1, limit // workers) for name, limit in limits.items() if limit is not None}
