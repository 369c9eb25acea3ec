"""Compares methods by the rows of their runs: at equal iterations, and at equal tokens.

Self-consistency at the same tokens is always among them. A difference is that of a method to the
base, over the problems that both have.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tmas_graph.errors import SettingsError
from tmas_graph.evaluation.entries import Against, Entry, of_standing, of_votes
from tmas_graph.evaluation.graded_only import graded_only
from tmas_graph.evaluation.paired import Difference, difference, holm
from tmas_graph.evaluation.tracks import Track, listed
from tmas_graph.evaluation.uniting import Evaluation
from tmas_graph.evaluation.voting_at_tokens import Samples, Votes, is_voting, samples_of
from tmas_graph.settings import near

PAPER = (1, 3, 9, 11, 17, 19)
"""The iterations that the paper's Table 1 shows; they count from 0, as ours."""
_ALL = 8
"""So many iterations are all shown where nobody says which."""
SAMPLING = ("temperature", "top_p", "max_tokens", "extra_body", "prompt_set")
"""Settings that should be the same, if methods alone are to be compared."""
_Values = Mapping[str, float]
"""By problem."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every method at every point."""

    base: str
    by_iterations: tuple[Entry, ...]
    by_tokens: tuple[Entry, ...]
    samples: Samples | None
    notes: tuple[str, ...]
    is_whole: bool
    """Whether it has all iterations that would be there without a limit of rows."""


def compare(
    evaluation: Evaluation,
    *,
    base: str | None = None,
    iterations: Sequence[int] | None = (),
    tokens: Sequence[int] = (),
    most: int | None = None,
) -> Comparison:
    """Compare all methods of `evaluation`.

    Args:
        evaluation: whose rows they are.
        base: what differences are to; by default self-consistency, if it is there.
        iterations: to show, from 0; None: all; by default all, of many those of the paper.
        tokens: further budgets, per problem.
        most: rows that a table should have, where `iterations` doesn't say which to show; the
            first and the last are always there.

    Raises:
        SettingsError: no gold answer is known, there is no such base or iteration, or a method
            has no problem in common with another.
    """
    evaluation = graded_only(evaluation)
    tracks = {name: Track(run) for name, run in evaluation.methods.items()}
    base = _base(list(tracks), base, evaluation.waiting)
    _refuse_strangers(tracks)
    shown = _iterations(tracks, iterations, most)
    samples = samples_of(evaluation.methods.values())
    by_iterations = [
        [of_standing("iterations", t, name, track.at(t)) for name, track in tracks.items()]
        for t in shown
    ]
    budgets = _budgets(tracks, base, shown, tokens)
    by_tokens = [list(_at(budget, tracks, samples)) for budget in budgets]
    notes = [note for track in tracks.values() for note in track.notes()]
    return Comparison(
        base,
        _against(base, by_iterations),
        _against(base, by_tokens),
        samples,
        (
            *evaluation.notes,
            *(f"{name} has no rows yet" for name in evaluation.waiting),
            *notes,
            *(() if iterations else _others(tracks, shown)),
            *_pairs(base, tracks),
            *_sampled_otherwise(base, tracks),
            *_about(samples, by_tokens),
            *_too_dear(by_tokens),
        ),
        shown == _iterations(tracks, iterations, None),
    )


def _base(methods: Sequence[str], asked: str | None, waiting: Sequence[str]) -> str:
    if asked in waiting:
        raise SettingsError(f"--base: {asked} has no rows yet. Let its run go on, or name another.")
    if asked is not None and asked not in methods:
        raise SettingsError(
            f"--base: no rows of {asked!r}{near(asked, methods)}. The methods in these runs are "
            f"{', '.join(methods)}."
        )
    return asked or next(filter(is_voting, methods), methods[0])


def _refuse_strangers(tracks: Mapping[str, Track]) -> None:
    """Refuse methods that have no problem in common with any other."""
    for name, track in tracks.items():
        others = {p for other in tracks.values() if other is not track for p in other.run.rows}
        if len(tracks) > 1 and others.isdisjoint(track.run.rows):
            raise SettingsError(
                f"compare: {name} has no problem in common with another method. "
                "Give runs over the same problems."
            )


def _iterations(
    tracks: Mapping[str, Track], asked: Sequence[int] | None, most: int | None
) -> list[int]:
    last = _last(tracks)
    if asked is None:
        return list(range(last + 1))
    for iteration in asked:
        if not 0 <= iteration <= last:
            raise SettingsError(
                f"--iterations: no method has an iteration {iteration}. They are 0 to {last}."
            )
    if asked:
        return sorted(set(asked))
    usual = list(range(last + 1)) if last < _ALL else sorted({0, *PAPER, last} & {*range(last + 1)})
    count = len(usual) if most is None else max(2, most // len(tracks))
    if count >= len(usual):
        return usual
    return [usual[round(k * (len(usual) - 1) / (count - 1))] for k in range(count)]


def _last(tracks: Mapping[str, Track]) -> int:
    return max(track.iterations[-1] for track in tracks.values())


def _others(tracks: Mapping[str, Track], shown: Sequence[int]) -> list[str]:
    """That there are more iterations than those shown, if so."""
    count = _last(tracks) + 1
    if len(shown) == count:
        return []
    return [f"{len(shown)} of {count} iterations are shown: --iterations says which, or all"]


def _budgets(
    tracks: Mapping[str, Track], base: str, shown: Sequence[int], asked: Sequence[int]
) -> list[float]:
    """What the base had spent after each iteration shown; where it has but one, the longest."""
    longest = max(tracks, key=lambda name: len(tracks[name].iterations))
    names = (base,) if len(tracks[base].iterations) > 1 else (base, longest)
    spent = {
        tracks[name].at(t).tokens for name in names for t in shown if t in tracks[name].iterations
    }
    return sorted({int(each) if each == int(each) else each for each in (*spent, *asked)} - {0})


def _at(tokens: float, tracks: Mapping[str, Track], samples: Samples | None) -> Iterable[Entry]:
    """Every method within `tokens`; votes stand in place of self-consistency's own run."""
    for name, track in tracks.items():
        if samples is None or name != samples.label:
            yield of_standing("tokens", tokens, name, track.within(tokens))
    if samples is not None:
        paid = samples.paid_by(tokens)
        k = samples.count if paid is None else min(paid, samples.count)
        yield of_votes(tokens, samples.label, Votes(k, samples) if k else None, paid)


def _against(base: str, points: Sequence[Sequence[Entry]]) -> tuple[Entry, ...]:
    """Add to each entry its difference to the base's at the same point."""
    bases = {entry.at: entry for entries in points for entry in entries if entry.method == base}
    entries = [entry for at_one in points for entry in at_one]
    others = [
        entry if entry.method != base else Entry(entry.axis, entry.at, "") for entry in entries
    ]
    selected = _compared([(bases[e.at].selected_values, e.selected_values) for e in others])
    first_tries = _compared([(bases[e.at].pass_at_1_values, e.pass_at_1_values) for e in others])
    return tuple(
        replace(entry, selected_against=one, pass_at_1_against=other)
        for entry, one, other in zip(entries, selected, first_tries, strict=True)
    )


def _compared(pairs: Sequence[tuple[_Values, _Values]]) -> list[Against | None]:
    """Compare the second of each pair to the first; all together share Holm's correction."""
    found = [_difference(base, other) for base, other in pairs]
    chances = iter(holm([each.p for each in found if each is not None]))
    return [None if each is None else Against(each, next(chances)) for each in found]


def _difference(base: _Values, other: _Values) -> Difference | None:
    both = base.keys() & other.keys()
    if not both:
        return None
    return difference({name: base[name] for name in both}, {name: other[name] for name in both})


def _pairs(base: str, tracks: Mapping[str, Track]) -> list[str]:
    notes = []
    mine = set(tracks[base].run.rows)
    for name, track in tracks.items():
        alone = sorted(mine ^ set(track.run.rows))
        if alone:
            notes.append(
                f"{name} against {base}: {listed(alone)}: only one of them has rows, "
                "so they are left out of the difference"
            )
    return notes


def _sampled_otherwise(base: str, tracks: Mapping[str, Track]) -> list[str]:
    """How methods were asked otherwise than the base: then not only the method differs."""
    notes, mine = [], tracks[base].run
    for name, track in tracks.items():
        theirs = track.run
        pairs = [(key, mine.settings.get(key), theirs.settings.get(key)) for key in SAMPLING]
        pairs.append(("model", mine.model, theirs.model))
        changes = [f"{key} ({was} / {now})" for key, was, now in pairs if was != now]
        if changes:
            notes.append(f"{name} against {base}: sampled otherwise: {', '.join(changes)}")
    return notes


def _about(samples: Samples | None, points: Sequence[Sequence[Entry]]) -> list[str]:
    if samples is None:
        return ["self-consistency at the same tokens: no plain samples to take it from"]
    what = "" if is_voting(samples.source) else ", the plain ones with which it begins"
    notes = [
        f"self-consistency at the same tokens: exact majorities of k of the {samples.count} "
        f"samples of {samples.source}{what}, {samples.each:.0f} tokens each"
    ]
    if not points:
        return ["at equal tokens: no endpoint has counted any, so there is nothing to compare"]
    if not samples.exact:
        notes.append(f"{samples.source} noted no tokens of sampling alone: its samples cost less")
    if any((entry.paid or 0) > samples.count for entries in points for entry in entries):
        notes.append(
            f"pool of {samples.count} only: where more are paid for, k stays {samples.count}"
        )
    return notes


def _too_dear(points: Iterable[Iterable[Entry]]) -> list[str]:
    names = dict.fromkeys(e.method for entries in points for e in entries if e.selected is None)
    if not names:
        return []
    return [f"{', '.join(names)}: where nothing stands, its first iteration costs more tokens"]
