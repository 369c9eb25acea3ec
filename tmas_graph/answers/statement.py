"""What a text without a declared answer states at its end; used by the grader alone.

"The perimeter is 7" declares nothing, yet a person would read 7. A vote doesn't use this.
A last sentence with a negation states nothing: "it is not 42" must never become 42.
"""

import re

_NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|none|cannot|wrong|incorrect|false|without|unless|if|only|when|"
    r"pas|nicht|kein|sin)\b|n't\b|n\u2019t\b|\\(?:neg|not|ne)\b|不|没",
    re.IGNORECASE,
)
_COPULA = re.compile(r"\b(?:is|are|equals|gives|gets|yields)\b|[:\uff1a]\s", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]{1,300})\*\*[.。]?$")
_NAMED_AFTER = re.compile(
    r"(\$[^$]{1,300}\$|\\\(.{1,300}?\\\)) (?:is|are) (?:the|our|my|your) "
    r"(?:final |only |required )?(?:answer|solution|result|value)s?\.?$"
)
_SENTENCES = re.compile(r"(?<=[.!?。])\s+(?=[A-Z*$\\])|\n\s*\n|\n")


def stated(text: str) -> str | None:
    """Give the value that the last sentence of `text` states; None where it states none."""
    sentence = _last_sentence(text[-2000:])
    if _NEGATION.search(sentence):
        return None
    if found := _BOLD.search(sentence) or _NAMED_AFTER.search(sentence):
        return found.group(1)
    copulas = list(_COPULA.finditer(sentence))
    if copulas:
        return sentence[copulas[-1].end() :].strip(" .。*") or None
    return sentence if sentence != text.strip() else None


def _last_sentence(text: str) -> str:
    sentences = [part.strip() for part in _SENTENCES.split(text)]
    return next((part for part in reversed(sentences) if part), "")
