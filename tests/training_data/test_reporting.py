"""The numbers of a report, by hand."""

from tmas_graph.state import Problem
from tmas_graph.training_data.pass_rates import PassRate
from tmas_graph.training_data.reporting import Lengths, histogram, lengths, part_of
from tmas_graph.training_data.samples import Origin, Sample


def sample(size: int, question: str = "q") -> Sample:
    prompt = ({"role": "user", "content": "x" * (3 * (size - 1))},)
    return Sample("normal", prompt, Problem(question), prompt, Origin("run", "tmas", "m"))


def test_each_bar_of_p0_holds_its_lower_edge() -> None:
    rates = [(0, 4), (0, 1), (1, 10), (1, 5), (2, 5), (3, 10), (6, 10), (3, 5), (99, 100), (3, 3)]
    assert histogram(PassRate(*rate) for rate in rates) == {
        "0": 2,
        "0-0.2": 1,
        "0.2-0.4": 2,
        "0.4-0.6": 1,
        "0.6-0.8": 2,
        "0.8-1": 1,
        "1": 1,
    }


def test_lengths_are_those_of_each_source() -> None:
    found = lengths(sample(size) for size in (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110))
    assert found == {"normal": Lengths(60, 100, 110)}
    assert lengths([sample(7)]) == {"normal": Lengths(7, 7, 7)}
    assert lengths([]) == {}


def test_a_part_counts_rows_and_problems() -> None:
    part = part_of([sample(5, "a"), sample(6, "a"), sample(7, "b")])
    assert part.rows == {"normal": 3, "experience": 0, "guideline": 0}
    assert part.problems == 2
