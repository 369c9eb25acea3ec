import logging
import time

import pytest

from tmas_graph.answers import voting, workers
from tmas_graph.answers.verdict import correct, incorrect
from tmas_graph.errors import StorageError


def test_answers_are_grouped_by_their_value():
    answers = [r"\frac{1}{2}", "2", None, "0.5", r"\sqrt{2}", r"2/\sqrt{2}", r"2^{1/2}"]
    assert voting.group(answers) == (0, 1, None, 0, 4, 4, 4)


def test_plain_answers_start_no_process(monkeypatch):
    class NoPool:
        def decide(self, *_, **__):
            raise AssertionError("a process was asked")

    monkeypatch.setattr("tmas_graph.answers.equivalence.pool", NoPool)
    answers = ["42", "042", r"\frac{84}{2}", "7", "1,000", "1000", "-3.5", "7/2"]
    groups = voting.group(answers)
    assert groups == (0, 0, 0, 3, 4, 4, 6, 7)


def test_twenty_iterations_of_different_integers_take_milliseconds_each():
    answers, classes, slowest = [], (), 0.0
    for t in range(20):
        answers += [str(1000 * t + i) for i in range(8)]
        begin = time.thread_time()
        classes = voting.group(answers, classes)
        slowest = max(slowest, time.thread_time() - begin)
    assert classes == tuple(range(160))
    assert slowest < 0.1  # 4 ms on an idle machine


def test_without_a_grading_process_text_decides_and_it_is_said_once(monkeypatch, caplog):
    def never_starts(self):
        raise StorageError("answers: the grading process doesn't start. Check that.")

    workers.pool().close()
    monkeypatch.setattr(workers.Worker, "__init__", never_starts)
    monkeypatch.setattr("tmas_graph.answers.equivalence._known", lambda key: None)
    answers = [r"\sqrt{8}", r"2\sqrt{2}", "0.5", "1/2", r"$\sqrt{8}$.", "x+1", "1+x"]
    with caplog.at_level(logging.WARNING):
        assert voting.group(answers) == (0, 1, 2, 2, 0, 5, 6)
    assert len(caplog.records) == 1
    assert "Until then answers are grouped by their text." in caplog.text


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_once_the_time_is_spent_text_decides(seconds, caplog):
    ask = voting.bounded(lambda one, two: correct("") if one != two else incorrect(""), seconds)
    time.sleep(0.001)  # so that a clock of low resolution moves on
    outcomes = [ask("x", "y").outcome, ask("7", "7.0").outcome]
    assert outcomes == (["unsure", "correct"] if seconds == 0 else ["correct", "correct"])
    assert len(caplog.records) == (seconds == 0)
