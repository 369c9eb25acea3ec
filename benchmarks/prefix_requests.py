"""The requests of one problem, as they are sent, and as others would send them."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.quick.texts import TASK
from tmas_graph import Problem, Settings, asolve
from tmas_graph.prompts import Message

ROLES = ("solution", "verification", "summary", "experience", "guideline")


@dataclass(frozen=True, slots=True)
class Request:
    """What one request asks for, and whose it is."""

    role: str
    iteration: int
    index: int
    messages: tuple[Message, ...]
    n: int


async def recorded(base_url: str, file: Path, **size: int) -> list[Request]:
    """All requests of TMAS for one problem, whose replies come from the server at `base_url`."""
    given = Settings.preset("paper", base_url=base_url, early_stop=False, **size)
    question = "Let it be a number with the property above, and no other one. " * 6
    await asolve(Problem(question, "p"), given, calls=file)
    return _read(file)


def _read(file: Path) -> list[Request]:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    made = [
        Request(
            row["place"]["role"],
            row["place"]["iteration"],
            row["place"]["index"],
            tuple(row["messages"]),
            row["n"],
        )
        for row in rows
    ]
    return sorted(made, key=lambda one: (one.iteration, ROLES.index(one.role), one.index))


def stages(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Those that may be under way together, so that what a role was spared can be told."""
    keys = dict.fromkeys((one.iteration, one.role) for one in requests)
    for iteration, role in keys:
        yield [one for one in requests if (one.iteration, one.role) == (iteration, role)]


def ours(requests: Sequence[Request]) -> list[Request]:
    """As they are: what is shared first, several replies of one request."""
    return list(requests)


def task_first(requests: Sequence[Request]) -> list[Request]:
    """The task before what it is about, and a request for each reply."""
    return [one for request in requests for one in _single(replace(request, messages=_turned(
        request.messages)))]  # fmt: skip


def numbered(requests: Sequence[Request]) -> list[Request]:
    """Likewise, and each agent is told first which one it is, as teams of personas are."""
    made = []
    for number, one in enumerate(task_first(requests)):
        first, *others = one.messages
        named: Message = {**first, "content": f"You are agent {number}.\n{first['content']}"}
        made.append(replace(one, messages=(named, *others)))
    return made


ORDERS: dict[str, Callable[[Sequence[Request]], list[Request]]] = {
    "ours": ours,
    "task first, single": task_first,
    "numbered, single": numbered,
}
"""By the name that tables give it."""


def shared(requests: Sequence[Request]) -> dict[str, float]:
    """By role, the share of the prompts' characters that a perfect cache would have.

    That is what some earlier prompt begins with, too; each reply of a request counts.
    """
    seen: list[str] = []
    parts: dict[str, list[int]] = {role: [0, 0] for role in ROLES}
    for request in requests:
        text = "\0".join(message["content"] for message in request.messages)
        known = max((_common(text, other) for other in seen), default=0)
        parts[request.role][0] += known + (request.n - 1) * len(text)
        parts[request.role][1] += request.n * len(text)
        seen.append(text)
    return {role: part / whole for role, (part, whole) in parts.items() if whole}


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _turned(messages: Sequence[Message]) -> tuple[Message, ...]:
    *others, user = messages
    material, mark, task = user["content"].rpartition(TASK)
    turned: Message = {**user, "content": f"{mark}{task}\n\n{material}"}
    return (*others, turned)


def _single(request: Request) -> list[Request]:
    return [replace(request, n=1)] * request.n
