import asyncio
import random
import time
from itertools import pairwise

import pytest

from tmas_graph.answers.equivalence import agrade, forget, grade
from tmas_graph.answers.workers import MEMORY_MB, pool

LIMIT = 2.0
GOLDS = ("1", r"\sqrt{2}+x", "1, 2, 3")
pytestmark = pytest.mark.usefixtures("fresh_verdicts")


def hostile(folder: str) -> list[str]:
    """Give 200 predictions, always the same, that try to hang, fill memory or touch `folder`."""
    draw = random.Random(20)
    texts = list[str]()
    for turn in range(200):
        text = _KINDS[turn % len(_KINDS)](draw)
        texts.append(text.replace("FILE", f"{folder}/touched{turn}"))
    return texts


def _boxed(inside: str) -> str:
    return rf"\boxed{{{inside}}}"


def _tower(draw: random.Random) -> str:
    heights = [str(draw.randrange(2, 99)) for _ in range(draw.randrange(3, 60))]
    return _boxed("^{".join(heights) + "}" * (len(heights) - 1))


def _nest(draw: random.Random) -> str:
    opening, closing = draw.choice(
        [("(", ")"), ("{", "}"), (r"\sqrt{1+", "}"), (r"\frac{1}{1+", "}"), ("|", "|"),
         (r"\sin(", ")"), ("-", ""), (r"\{", r"\}"), ("[", "]"), ("((", "))!")]
    )  # fmt: skip
    count = draw.choice([30, 500, 5000])
    return _boxed(opening * count + "1" + closing * count)


def _digits(draw: random.Random) -> str:
    run = str(draw.randrange(1, 10)) * draw.choice([3000, 10_000, 90_000])
    shape = draw.choice(["{0}", "{0}/{0}1", "0.{0}", "{0}^{{{0}}}", "1e{0}", r"\sqrt{{{0}}}"])
    return _boxed(shape.format(run))


def _unbalanced(draw: random.Random) -> str:
    return "".join(draw.choice(r"{}()[]|$\^_&") for _ in range(draw.choice([100, 3000, 50_000])))


def _junk(draw: random.Random) -> str:
    piece = draw.choice(["x+", "a b ", "\\frac", "1,", "\\boxed{", "answer is ", "= ", "x_", "'"])
    return piece * (100_000 // len(piece))


def _control(draw: random.Random) -> str:
    return _boxed("".join(chr(draw.choice([*range(32), 0x7F, 0x202E, 0xD800])) for _ in range(500)))


def _code(draw: random.Random) -> str:
    return draw.choice(
        [
            "__import__('os').system('touch FILE')",
            r"\boxed{__import__('pathlib').Path('FILE').touch()}",
            "(lambda: open('FILE', 'w'))()",
            "().__class__.__base__.__subclasses__()",
            r"\boxed{[].__class__.__mro__[1].__subclasses__()[0]('FILE')}",
            r"\boxed{exec(open('FILE','w').write('x'))}",
            r"\input{/etc/passwd}\write18{touch FILE}",
            r"\boxed{{{config.__class__.__init__.__globals__}}}",
        ]
    )


def _heavy(draw: random.Random) -> str:
    size = draw.choice([10**4, 10**6, 10**9, 10**15])
    return _boxed(
        draw.choice(
            [rf"\sum_{{k=1}}^{{{size}}} k!", rf"\prod_{{k=1}}^{{{size}}} k^k", rf"{size}!",
             rf"\binom{{{size}}}{{{size // 2}}}", rf"\sqrt[{size}]{{2}}", rf"(x+y)^{{{size}}}",
             rf"\sin({size}^{{{size}}})", r"\sum_{k=1}^{9999} \sum_{j=1}^{9999} \sqrt{kj}",
             rf"e^{{e^{{e^{{{size}}}}}}}", rf"{size}!!", rf"2^{{-{size}}}",
             "+".join(rf"\sqrt{{{n}}}" for n in range(2, 150)),
             "(" + ",".join(rf"\sqrt{{{n}}}" for n in range(2, 290)) + ")"]
        )
    )  # fmt: skip


_KINDS = (_tower, _nest, _digits, _unbalanced, _junk, _control, _code, _heavy)


@pytest.fixture(autouse=True)
def warm_worker():
    grade("x", "1+y")


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


def test_hostile_predictions_return_in_time_and_touch_no_file(tmp_path):
    slow, accepted = [], []
    for number, text in enumerate(hostile(str(tmp_path))):
        start = time.perf_counter()
        verdict = grade(text, GOLDS[number % 3], timeout=LIMIT)
        if time.perf_counter() - start > LIMIT + 0.5:
            slow.append((number, text[:80]))
        if verdict.outcome == "correct":
            accepted.append((number, text[:80]))
        assert all(resident_mb(pid) < MEMORY_MB for pid in pool().pids())
    assert (slow, accepted) == ([], [])
    assert list(tmp_path.iterdir()) == []


def test_hostile_pairs_return_in_time_on_both_sides(tmp_path):
    texts = hostile(str(tmp_path))[::5]
    for one, two in pairwise(texts):
        start = time.perf_counter()
        grade(one, two, timeout=LIMIT)
        assert time.perf_counter() - start < LIMIT + 0.5, (one[:80], two[:80])


def test_the_shared_hostile_cases_return_in_time(shared_rows):
    for case in shared_rows("grading", "cases.jsonl"):
        if case.get("hostile"):
            start = time.perf_counter()
            verdict = grade(case["pred"], case["gold"], timeout=LIMIT)
            assert time.perf_counter() - start < LIMIT + 0.5, case["id"]
            assert verdict.outcome != "correct" or case["expected"], case["id"]


def test_the_event_loop_is_never_held_up(tmp_path):
    """Take the best of a few tries: a busy machine pauses any loop, a fault of ours pauses each."""

    async def longest_pause():
        texts = hostile(str(tmp_path))[::2]
        done = asyncio.gather(*(agrade(text, "1+x", timeout=LIMIT) for text in texts))
        longest, before = 0.0, time.perf_counter()
        while not done.done():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
        await done
        return longest

    pauses = list[float]()
    while len(pauses) < 5 and (not pauses or pauses[-1] >= 0.05):
        forget()
        pauses.append(asyncio.run(longest_pause()))
    assert min(pauses) < 0.05
