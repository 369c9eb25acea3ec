"""What a thread remembers, as plain values and as `tmas show` prints it."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from tmas_graph.cli.counting import counted

if TYPE_CHECKING:
    from rich.console import Console

    from tmas_graph.memory.borrowing import Borrowed
    from tmas_graph.memory.retrieval import Noted
    from tmas_graph.state import Attempt, Strategy


class Entry(NamedTuple):
    """One thing that is remembered, in words."""

    label: str
    text: str
    more: str


def items(experience: "list[Noted]", attempts: "Iterable[Attempt]") -> list[dict[str, Any]]:
    """Each item with its history; it comes from all rollouts of its iteration."""
    names = {one.entry.id: one.name for one in experience}
    finished = [a for a in attempts if a.outcome == "finished"]
    return [
        {
            "name": one.name,
            **asdict(one.item),
            "status": one.status,
            "support": one.support,
            "contradictions": one.entry.contradictions,
            "iteration": one.entry.iteration,
            "rollouts": [
                {"index": a.index, "score": a.score}
                for a in finished
                if a.iteration == one.entry.iteration
            ],
            "supported": list(one.entry.supported),
            "contradicted": list(one.entry.contradicted),
            "reason": one.reason,
            "corrected_by": names.get(one.entry.corrected_by, ""),
            "absorbed_by": names.get(one.entry.absorbed_by, ""),
        }
        for one in experience
    ]


def strategies(known: "Iterable[Strategy]") -> list[dict[str, Any]]:
    """Each strategy of the guideline bank with its history."""
    return [
        {
            "id": f"G{number}",
            "name": one.name,
            "essence": one.essence,
            "tries": one.tries,
            "named": one.named,
            "iterations": list(one.iterations),
            "best_score": one.best_score,
            "outcome": one.outcome,
        }
        for number, one in enumerate(known, 1)
    ]


def print_all(console: "Console", story: dict[str, Any]) -> None:
    """Print both banks of a story, if they are kept, and what is borrowed."""
    settings = story["settings"]
    noted = [Entry(f"{i['name']} {i['kind']}", _said(i), _standing(i)) for i in story["experience"]]
    if noted or settings["experience"]:
        print_entries(console, "Experience bank", noted)
    lent = [Entry(one["kind"], _said(one), _lender(one)) for one in story["borrowed"]]
    if lent or settings["memory_scope"] != "problem":
        print_entries(console, "Borrowed from other problems", lent)
    if story["strategies"] or settings["guideline"]:
        print_strategies(console, story["strategies"])


def print_strategies(console: "Console", rows: list[dict[str, Any]]) -> None:
    """Print what `strategies` gave."""
    told = [Entry(f"{s['id']} {s['name']}", s["essence"], _ending(s)) for s in rows]
    print_entries(console, "Guideline bank", told)


def print_entries(console: "Console", title: str, entries: list[Entry]) -> None:
    """Print `entries` under `title`."""
    from rich.text import Text

    from tmas_graph.cli.plain import plain

    console.print(Text(f"{title}: {len(entries) or 'empty'}", style="bold"))
    for label, text, more in entries:
        console.print(Text.assemble("  ", (plain(label), "cyan"), " ", plain(text)))
        if more:
            console.print(Text(f"     {plain(more)}", style="dim"))


def borrowed(lent: "Iterable[Borrowed]") -> list[dict[str, Any]]:
    """What the candidates that exploit are shown of other problems."""
    return [asdict(one) for one in lent]


def _said(item: dict[str, Any]) -> str:
    conditions = f" (if: {item['conditions']})" if item["conditions"] else ""
    return f"{item['text']}{conditions}"


def _standing(item: dict[str, Any]) -> str:
    """How an item stands, and where it is from, in words."""
    parts = [item["status"]]
    if item["support"]:
        parts.append(counted(item["support"], "support"))
    if item["contradictions"]:
        parts.append(counted(item["contradictions"], "contradiction"))
    if item["status"] == "refuted" and item["reason"]:
        by = f" by {item['corrected_by']}" if item["corrected_by"] else ""
        parts.append(item["reason"] + by)
    if item["absorbed_by"]:
        parts.append(f"{item['absorbed_by']} says it and more")
    scores = ["–" if r["score"] is None else f"{r['score']:.2f}" for r in item["rollouts"]]
    source = f" (mean scores {', '.join(scores)})" if scores else ""
    return " · ".join([*parts, f"from iteration {item['iteration']}{source}"])


def _lender(one: dict[str, Any]) -> str:
    """How what is borrowed stood at its problem, and which that is, in words."""
    why = one["reason"] if one["status"] == "refuted" else ""
    return " · ".join(filter(None, [one["status"], why, f"from problem {one['problem']}"]))


def _ending(strategy: dict[str, Any]) -> str:
    """How often a strategy was tried, how well it did, and how it ended, in words."""
    where = f"in iteration {', '.join(map(str, strategy['iterations']))}"
    if not strategy["named"]:
        parts = [where, "no attempt named"]
    else:
        least = "" if strategy["named"] == strategy["tries"] else "at least "
        best = strategy["best_score"]
        score = "no score known" if best is None else f"best score {best:.2f}"
        parts = [f"{least}{counted(strategy['tries'], 'candidate')} {where}", score]
    return " · ".join(filter(None, [*parts, strategy["outcome"]]))
