import time

import pytest

from tmas_graph.answers.extract import answer_of, gold_answer, last_boxed
from tmas_graph.answers.statement import stated


@pytest.mark.parametrize(
    ("text", "box"),
    [
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed 12$ and \boxed{13}", "13"),
        (r"\boxed 12$", "12"),
        (r"\fbox{7}", "7"),
        (r"boxed{8}", "8"),
        (r"\beginboxed{8\sqrt{6}}", r"8\sqrt{6}"),
        (r"\boxed{\left\{1, 2\right.}", r"\left\{1, 2\right."),
        (r"\boxed{x = \boxed{4}}", r"x = \boxed{4}"),
        (r"in \boxed{3} as asked, within \boxed{}", "3"),
        (r"\boxed{4", None),
        (r"\boxed{3} and \boxed{4", "3"),
        (r"{ never } } closed { here: \boxed{\frac{1}{2}} }", r"\frac{1}{2}"),
        (r"{{ \{ a box {x} of \boxed{\{1\}} }", r"\{1\}"),
        ("no box", None),
        ("", None),
    ],
)
def test_the_last_balanced_box_is_found(text, box):
    assert last_boxed(text) == box


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{1} and \boxed{2}", "1, 2"),
        (r"\boxed{1}, \boxed{1}", "1"),
        (r"\boxed{10} and then \boxed{42}", "42"),
        ("\\boxed{10}\n\n\\boxed{42}", "42"),
        (r"Part a: \boxed{1}. Part b: \boxed{2}", "2"),
        (r"\boxed{28}\%", r"28\%"),
        ("<answer> 5 </answer>", "5"),
        ("#### 10\nmore\n#### 20", "20"),
        ("The final answer is $42$. I hope it is right.", "$42$"),
        ("**Final Answer: 3037**", "3037"),
        ("Final answer:\n\n$$\\frac12$$\n", "$$\\frac12$$"),
        ("The answer is 42 because geometry proves it", "42"),
        (r"<think>\boxed{1}</think>\boxed{2}", "2"),
        (r"<think>\boxed{1}</think>nothing", None),
        (r"<think>\boxed{1}", None),
        ("The perimeter is 7.", None),
        (r"The answer is 7, that is \boxed{7", None),
    ],
)
def test_the_declared_answer_is_found(text, answer):
    assert answer_of(text) == answer


def test_a_gold_answer_keeps_its_words():
    assert gold_answer("n is prime") == "n is prime"
    assert gold_answer(r"So the answer is \boxed{24}.") == "24"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The perimeter is 7.", "7"),
        ("64 + 67 = **131**", "131"),
        ("It is not true that the value is 7.", None),
        ("It isn't 7: the value is 8", None),
        ("First 6*7.\n42", "42"),
    ],
)
def test_a_last_sentence_states_a_value_unless_it_negates(text, value):
    assert stated(text) == value


@pytest.mark.parametrize(
    "piece",
    ["<answer>", "\\boxed{", "\\boxed 1, ", "{", "}", " ", "\n ", "answer is ", "$", "\\", "#### ",
     "</think>", "a=", "\\boxed{1},", "**", "\t\n"],
)  # fmt: skip
def test_extraction_takes_linear_time(piece):
    text = piece * (100_000 // len(piece))
    start = time.perf_counter()
    answer_of(text), gold_answer(text), last_boxed(text), stated(text)
    assert time.perf_counter() - start < 1.0
