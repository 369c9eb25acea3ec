"""Two hundred hostile predictions, the same in every run."""

import random


def hostile(folder: str) -> list[str]:
    """Give predictions that try to hang, to exhaust memory or to run code in `folder`."""
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
             rf"\sin({size}^{{{size}}})", rf"\sum_{{k=1}}^{{9999}} \sum_{{j=1}}^{{9999}} \sqrt{{kj}}",
             rf"e^{{e^{{e^{{{size}}}}}}}", rf"{size}!!", rf"2^{{-{size}}}",
             "+".join(rf"\sqrt{{{n}}}" for n in range(2, 150)),
             "(" + ",".join(rf"\sqrt{{{n}}}" for n in range(2, 290)) + ")"]
        )
    )  # fmt: skip


_KINDS = (_tower, _nest, _digits, _unbalanced, _junk, _control, _code, _heavy)
