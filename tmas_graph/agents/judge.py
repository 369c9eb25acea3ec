"""The judge: asked where rules can't tell whether an answer is the reference answer.

It is no part of the graph. Its opinion stands beside the rules' verdict and never replaces it; what
can't be read, and any reply that was cut, accepts nothing.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from tmas_graph.answers.extract import last_box
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Prompt, Prompts
from tmas_graph.usage import Usage

Opinion = Literal["correct", "incorrect", "unreadable"]
LONGEST_ANSWER = 4_000
"""Characters; a longer answer isn't shown to the judge, and stays undecided."""
_OPINIONS: dict[str, Opinion] = {"yes": "correct", "no": "incorrect"}
_WRAPPED = re.compile(r"^\\(?:text|textbf|mathbf|mathrm)\{(.*)\}$")
_ENDING = re.compile(r"[\s.$*`\])\\]*")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge made of one answer."""

    opinion: Opinion
    """Only `correct` accepts the answer."""
    reason: str
    """What it wrote, or why it wasn't asked."""
    usage: Usage = field(default=Usage())


async def judge(model: Model, prompts: Prompts, question: str, answer: str, gold: str) -> Judgement:
    """Ask whether the final `answer` is what `gold` states; `question` may be empty."""
    if max(len(answer), len(gold)) > LONGEST_ANSWER:
        return Judgement("unreadable", f"an answer of more than {LONGEST_ANSWER} characters")
    messages = prompts.render("judge", problem=question, answer=answer, gold=gold)
    return parse((await model(Prompt(messages)))[0])


def parse(reply: Reply) -> Judgement:
    r"""Read the opinion from the `\boxed{}` that ends the reply."""
    text = reply.text.rstrip()
    box = last_box(text) if reply.whole else None
    if box is None or not _ENDING.fullmatch(text, box.end):
        return Judgement("unreadable", text, reply.usage)
    content = box.content.strip(" $*`.")
    while wrapped := _WRAPPED.match(content):
        content = wrapped.group(1).strip()
    opinion = _OPINIONS.get(content.lower(), "unreadable")
    return Judgement(opinion, text[: box.begin].strip(), reply.usage)
