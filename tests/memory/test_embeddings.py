from math import isclose, sqrt

from tmas_graph.memory.embeddings import DIMENSION, embed


def test_vectors_are_unit_and_equal_for_equal_texts() -> None:
    first, second, third = embed(["T(2) = 3 holds", "something else", "T(2) = 3 holds"])
    assert first == third != second
    assert len(first) == DIMENSION
    assert isclose(sqrt(sum(x * x for x in first)), 1.0)


def test_a_vector_does_not_depend_on_its_companions() -> None:
    assert embed(["a b c"]) == embed(["x y", "a b c"])[1:]


def test_no_texts_have_no_vectors_and_an_empty_text_has_one() -> None:
    assert embed([]) == []
    assert embed([""]) == [[0.0] * DIMENSION]
