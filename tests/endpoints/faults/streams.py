"""Streams that end early, come in another order, or are cut otherwise into writes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from endpoints.delivery import DONE, Answer, Event, Step
from endpoints.fault import Fault


def _chosen(event: Event) -> dict[str, Any] | None:
    """The choice that an event is about, if it is about one."""
    choices = event.get("choices") if isinstance(event, dict) else None
    return choices[0] if choices else None


def _finishes(event: Event) -> bool:
    return bool((choice := _chosen(event)) and choice["finish_reason"])


def _is_usage(event: Event) -> bool:
    return isinstance(event, dict) and "usage" in event


def _by_choice(events: list[Event]) -> list[list[Event]]:
    queues: defaultdict[int, list[Event]] = defaultdict(list)
    for event in events:
        if choice := _chosen(event):
            queues[choice["index"]].append(event)
    return list(queues.values())


def _rest(events: list[Event]) -> list[Event]:
    """What is about no choice: usage and the closing event."""
    return [event for event in events if not _chosen(event)]


def _twice(events: list[Event], which: Callable[[Event], bool]) -> Iterator[Event]:
    for event in events:
        yield event
        if which(event):
            yield event


def _turning(events: list[Event]) -> Iterable[Event]:
    queues = _by_choice(events)
    turned: list[Event] = []
    for turn in range(max(map(len, queues), default=0)):
        begin = turn % len(queues)
        order = [*queues[begin:], *queues[:begin]]
        turned += [queue[turn] for queue in order if turn < len(queue)]
    return [*turned, *_rest(events)]


def _in_sequence(events: list[Event]) -> Iterable[Event]:
    return [*(event for queue in reversed(_by_choice(events)) for event in queue), *_rest(events)]


def _together(events: list[Event]) -> Iterable[Event]:
    queues = _by_choice(events)
    for turn in range(max(map(len, queues), default=0)):
        row = [queue[turn] for queue in queues if turn < len(queue)]
        heads = [event for event in row if isinstance(event, dict)]
        yield heads[0] | {"choices": [_chosen(event) for event in heads]}
    yield from _rest(events)


def _usage_first(events: list[Event]) -> Iterable[Event]:
    usage = [event for event in events if _is_usage(event)]
    others = [event for event in events if not _is_usage(event)]
    last = max(
        (i for i, event in enumerate(others) if (c := _chosen(event)) and c["delta"]), default=0
    )
    return [*others[:last], *usage, *others[last:]]


def _merged(events: list[Event]) -> Iterable[Event]:
    merged = list(events)
    for queue in _by_choice(events):
        for event, following in pairwise(queue):
            if joined := _joined(event, following):
                # By identity: two deltas may say the same.
                kept = [each for each in merged if each is not following]
                merged = [joined if each is event else each for each in kept]
    return merged


def _joined(event: Event, following: Event) -> Event | None:
    """Both in one, if the first ends the thinking and the second begins the text."""
    one, two = _chosen(event), _chosen(following)
    if not (isinstance(event, dict) and one and two and two["delta"].get("content")):
        return None
    if not {"reasoning", "reasoning_content"} & one["delta"].keys():
        return None
    return event | {"choices": [one | {"delta": one["delta"] | two["delta"]}]}


NEVER = Fault(name="never_streams", streamed=True, behaviour={"streams": "never"})
"""JSON for a request that asks for a stream."""
ALWAYS = Fault(name="always_streams", streamed=False, behaviour={"streams": "always"})
"""A stream for a request that asks for JSON."""
WITHOUT_DONE = Fault(
    name="without_done", streamed=True, harmless=True, events=lambda events: events[:-1]
)
"""A complete answer without its closing event."""
WITHOUT_FINISH = Fault(
    name="without_finish",
    streamed=True,
    events=lambda events: [event for event in events if not _finishes(event)],
)
"""All of the text and the closing event, and no reason to finish."""
DUPLICATE_FINISH = Fault(
    name="duplicate_finish",
    streamed=True,
    harmless=True,
    events=lambda events: _twice(events, _finishes),
)
DUPLICATE_USAGE = Fault(
    name="duplicate_usage",
    streamed=True,
    harmless=True,
    events=lambda events: _twice(events, _is_usage),
)
USAGE_FIRST = Fault(name="usage_first", streamed=True, harmless=True, events=_usage_first)
"""Usage before the last delta."""
TURNING = Fault(name="turning", streamed=True, harmless=True, events=_turning)
"""The choices take turns in an order that changes."""
IN_SEQUENCE = Fault(name="in_sequence", streamed=True, harmless=True, events=_in_sequence)
"""One choice after the other, the last one first, each whole before the next begins."""
TOGETHER = Fault(name="together", streamed=True, harmless=True, events=_together)
"""Each event has a delta of every choice that is not finished."""
THINKING_WITH_CONTENT = Fault(
    name="thinking_with_content", streamed=True, harmless=True, events=_merged
)
"""The end of the thinking and the begin of the text in one delta."""


def ends_early(*, chunks: int = 2, done: bool = False) -> Fault:
    """End the stream in good order after `chunks` events, with or without the closing one."""
    tail = [DONE] if done else []
    return Fault(
        name="ends_early_with_done" if done else "ends_early",
        streamed=True,
        events=lambda events: [*events[:chunks], *tail],
    )


def _commented(events: list[Event]) -> Iterable[Event]:
    for event in events:
        yield b": ping\n\n"
        yield event


KEEP_ALIVE = Fault(name="keep_alive", streamed=True, harmless=True, events=_commented)
"""A comment before each event."""
CRLF = Fault(
    name="crlf",
    streamed=True,
    harmless=True,
    answer=lambda answer: answer.with_bytes(lambda b: (b.replace(b"\n", b"\r\n"),)),
)


def grouped(events: int) -> Fault:
    """Send so many events in a write."""

    def answer(whole: Answer) -> Answer:
        steps: list[Step] = []
        joined = 0
        for step in whole.steps:
            last = steps[-1] if steps else None
            if isinstance(step, bytes) and isinstance(last, bytes) and joined % events:
                steps[-1] = last + step
            else:
                steps.append(step)
            joined += isinstance(step, bytes)
        return replace(whole, steps=tuple(steps))

    return Fault(name="grouped", streamed=True, harmless=True, answer=answer)


def split(size: int) -> Fault:
    """Send each event in writes of `size` bytes; of 1, within each character of UTF-8 too."""

    def pieces(whole: bytes) -> Iterator[bytes]:
        return (whole[begin : begin + size] for begin in range(0, len(whole), size))

    return Fault(
        name=f"split_{size}",
        streamed=True,
        harmless=True,
        answer=lambda answer: answer.with_bytes(pieces),
    )
