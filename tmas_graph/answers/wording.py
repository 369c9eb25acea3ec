"""Compare answers that hold words: the same words are equal, others mostly can't be told."""

import re

from tmas_graph.answers.answer import Answer, Value, Words
from tmas_graph.answers.syntax import Name
from tmas_graph.answers.verdict import Verdict, correct, incorrect, unsure
from tmas_graph.answers.vocabulary import OPPOSITES

_COMMAND = re.compile(
    r"\\(?:text|textbf|textrm|textit|mathrm|operatorname)(?![a-zA-Z])\s?\{([^{}]*)\}"
)


def words_of(text: str) -> list[str]:
    """Give the words and signs of a text, in small letters, without markup."""
    plain = _COMMAND.sub(r" \1 ", text)
    return re.findall(r"\\?[a-z]+|\d+|\S", plain.lower())


def compare_words(pred: Answer, gold: Answer) -> Verdict:
    """Compare where one side or both hold words."""
    choices = [_choice(side) for side in (pred, gold)]
    if all(choices):
        if choices[0] == choices[1]:
            return correct("the same choice")
        if str(choices[0]).lower() != str(choices[1]).lower():
            return incorrect("different choices")
    if not (isinstance(pred, Words) and isinstance(gold, Words)):
        why = " ".join(side.why for side in (pred, gold) if isinstance(side, Words))
        return unsure(f"words against mathematics: {why}")
    first, second = words_of(pred.text), words_of(gold.text)
    if _same_case(pred.text, gold.text) and first == second:
        return correct("the same words")
    if frozenset(set(first) ^ set(second)) in OPPOSITES:
        return incorrect("opposite words")
    if all(len(side) == 1 and side[0].isalpha() for side in (first, second)):
        return incorrect("different words")
    return unsure("different words: " + " ".join(side.why for side in (pred, gold)))


def _choice(side: Answer) -> str:
    if isinstance(side, Words) and len(side.text) == 1 and side.text.isalpha():
        return side.text
    if isinstance(side, Value) and isinstance(side.formula, Name) and len(side.formula.text) == 1:
        return side.formula.text
    return ""


def _same_case(first: str, second: str) -> bool:
    """Do single letters agree in case? `R` and `r` are different, `Yes` and `yes` are not."""
    letters = [re.findall(r"(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z])", text) for text in (first, second)]
    return letters[0] == letters[1]
