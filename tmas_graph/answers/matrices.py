"""Read a matrix or array environment."""

from tmas_graph.answers.answer import Matrix
from tmas_graph.answers.brackets import Tokens, split_at_text
from tmas_graph.answers.grammar import read_formula
from tmas_graph.answers.syntax import Unreadable
from tmas_graph.answers.vocabulary import words

_MATRICES = frozenset(words("matrix pmatrix bmatrix Bmatrix smallmatrix array"))


def read_matrix(tokens: Tokens) -> Matrix:
    """Read `tokens`, an environment from begin to end.

    Raises:
        Unreadable: it is no matrix.
    """
    kind = tokens[0].text.partition(":")[2].rstrip("*")
    body = list(tokens[1:-1])
    if kind not in _MATRICES or tokens[-1].text != tokens[0].text.replace("begin", "end"):
        raise Unreadable(f'the environment "{kind}"')
    if kind == "array" and body and body[0].text == "{":
        body = body[next(i for i, token in enumerate(body) if token.text == "}") + 1 :]
    rows = [row for row in split_at_text(body, r"\\") if row]
    cells = tuple(tuple(map(read_formula, split_at_text(row, "&"))) for row in rows)
    if len({len(row) for row in cells}) != 1:
        raise Unreadable("a matrix whose rows differ in length")
    return Matrix(cells)
