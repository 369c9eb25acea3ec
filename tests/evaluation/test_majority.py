import random
from collections import Counter
from itertools import combinations
from math import comb
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.evaluation.majority import Pool, pool_of, share
from tmas_graph.evaluation.metrics import Try


def tries(marks):
    """`A` to `Z` are classes of right answers, `a` to `z` of wrong ones, `.` is no answer."""
    return [
        Try("unanswered") if m == "." else Try("correct" if m.isupper() else "incorrect", ord(m))
        for m in marks
    ]


def slowly(marks, k):
    """Try every subset."""
    shares = []
    for drawn in combinations(marks, k):
        votes = Counter(mark for mark in drawn if mark != ".")
        most = max(votes.values(), default=0)
        leading = [mark for mark in votes if votes[mark] == most]
        shares.append(fmean(mark.isupper() for mark in leading) if leading else 0.0)
    assert len(shares) == comb(len(marks), k)
    return fmean(shares)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.text("AABCabcd.", min_size=1, max_size=11), st.data())
def test_it_is_what_all_subsets_give(marks, data):
    k = data.draw(st.integers(1, len(marks)))
    assert share(pool_of(tries(marks)), k) == pytest.approx(slowly(marks, k), abs=1e-12)


def test_a_class_is_right_if_one_of_its_tries_was_found_so():
    pool = pool_of([Try("correct", 0), Try("unsure", 0), Try("incorrect", 1)])
    assert pool == Pool((2,), (1,), 3)


def test_one_try_is_pass_at_1():
    assert share(pool_of(tries("AAbc.")), 1) == pytest.approx(0.4)


def test_hundreds_of_tries_are_no_harder():
    pool = Pool((150,), (140, 100, *[1] * 200), 640)
    assert share(pool, 640) == pytest.approx(1.0)
    generator = random.Random(1)
    votes = [place for place, size in enumerate([150, 140, 100, *[1] * 200]) for _ in range(size)]
    votes += [None] * 50
    found = fmean(_right(generator.sample(votes, 64)) for _ in range(4000))
    assert share(pool, 64) == pytest.approx(found, abs=0.03)


def _right(drawn):
    votes = Counter(drawn)
    del votes[None]
    most = max(votes.values())
    leading = [name for name in votes if votes[name] == most]
    return (0 in leading) / len(leading)


@pytest.mark.parametrize("k", [0, 4])
def test_k_beyond_the_pool_is_refused(k):
    with pytest.raises(ValueError, match=f"k is {k}, but there are 3 tries"):
        share(Pool((1,), (2,), 3), k)


def test_without_a_right_answer_or_without_any_it_is_0():
    assert share(Pool((), (3,), 5), 2) == 0.0
    assert share(Pool((), (), 5), 5) == 0.0
