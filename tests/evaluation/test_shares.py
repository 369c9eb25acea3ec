"""What several processes may use of an endpoint's limits, and what they can't share."""

import pytest

from tmas_graph import Settings
from tmas_graph.errors import SettingsError
from tmas_graph.evaluation.shares import most_workers, refuse_unshared, share

SERVER = {"base_url": "http://127.0.0.1:1/v1"}
OTHER = {"base_url": "http://127.0.0.1:2/v1"}


def made(**changes: object) -> Settings:
    return Settings.checked({**SERVER, **changes})


def test_all_shares_together_are_no_more_than_the_limits() -> None:
    given = made(concurrency=10, requests_per_minute=100, tokens_per_minute=9000)
    for workers in (1, 2, 3, 10):
        mine = share(given, workers)
        assert mine.concurrency == 10 // workers
        assert mine.requests_per_minute == 100 // workers
        assert mine.tokens_per_minute == 9000 // workers


def test_what_has_no_limit_has_none_shared() -> None:
    mine = share(made(concurrency=4), 2)
    assert (mine.requests_per_minute, mine.tokens_per_minute) == (None, None)


def test_a_limit_of_one_role_is_shared_too() -> None:
    given = made(concurrency=8, roles={"verification": {**OTHER, "concurrency": 6}})
    mine = share(given, 2)
    assert mine.endpoint("verification").concurrency == 3
    assert mine.endpoint("solution").concurrency == 4


def test_no_more_workers_than_the_smallest_limit_has_shares() -> None:
    assert most_workers(made(concurrency=8)) == 8
    assert most_workers(made(concurrency=8, requests_per_minute=3)) == 3
    of_a_role = {"verification": {**OTHER, "concurrency": 2}}
    assert most_workers(made(concurrency=8, roles=of_a_role)) == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"base_url": None}, "a local model serves one process"),
        ({"memory_scope": "run", "run_name": "a"}, "memory_scope is 'run'"),
        ({"memory_folder": "here"}, "memory_folder is 'here'"),
    ],
)
def test_what_only_one_process_can_have_is_refused(changes, reason) -> None:
    with pytest.raises(SettingsError, match=reason):
        refuse_unshared(made(**changes))


def test_a_memory_server_is_shared() -> None:
    refuse_unshared(made(memory_scope="run", run_name="a", memory_server="http://127.0.0.1:8000"))
    refuse_unshared(made())
