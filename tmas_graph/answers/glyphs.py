"""Unicode signs and what they are in LaTeX, by code point (look-alikes are hard to tell apart)."""

from tmas_graph.answers.vocabulary import words

_SIGNS = {
    "-": "\u2212\u2013\u2014\u2012\u2010\u2011\ufe63\uff0d",
    r"\cdot ": "\u00b7\u22c5\u2219\u2022\u2217",
    " ": "\u00a0\u2002\u2003\u2009\u200a\u202f\u3000\t",
    "": "\u200b\u200c\u200d\u2060\ufeff\u2061\u2062\u2063\ufe0f",
    r"^\circ ": "\u00b0\u00ba\u02da",
    "'": "\u2018\u2019\u2032",
    '"': "\u201c\u201d",
    "/": "\u2044\u2215",
    ",": "\uff0c\u3001",
    ".": "\u3002",
    r"\times ": "\u00d7",
    r"\div ": "\u00f7",
    r"\sqrt ": "\u221a",
    r"\sqrt[3] ": "\u221b",
    r"\infty ": "\u221e",
    r"\le ": "\u2264\u2a7d",
    r"\ge ": "\u2265\u2a7e",
    r"\ne ": "\u2260",
    r"\approx ": "\u2248",
    r"\equiv ": "\u2261",
    r"\in ": "\u2208",
    r"\cup ": "\u222a",
    r"\cap ": "\u2229",
    r"\setminus ": "\u2216",
    r"\emptyset ": "\u2205",
    r"\pm ": "\u00b1",
    r"\mp ": "\u2213",
    r"\ldots ": "\u2026\u22ef",
    r"\lfloor ": "\u230a",
    r"\rfloor ": "\u230b",
    r"\lceil ": "\u2308",
    r"\rceil ": "\u2309",
    r"\langle ": "\u27e8",
    r"\rangle ": "\u27e9",
    r"\mathbb{R}": "\u211d",
    r"\mathbb{Z}": "\u2124",
    r"\mathbb{N}": "\u2115",
    r"\mathbb{Q}": "\u211a",
    r"\mathbb{C}": "\u2102",
    r"\varphi ": "\u03d5",
    r"\$": "\u20ac\u00a3\u00a5\u20b9\u20bd",
}
_GREEK = words(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho "
    "sigma sigma tau upsilon varphi chi psi omega"
)
_CAPITALS = {
    "\u0393": "Gamma",
    "\u0394": "Delta",
    "\u0398": "Theta",
    "\u039b": "Lambda",
    "\u03a3": "Sigma",
    "\u03a6": "Phi",
    "\u03a8": "Psi",
    "\u03a9": "Omega",
}
_FRACTIONS = {
    "\u00bd": (1, 2),
    "\u2153": (1, 3),
    "\u2154": (2, 3),
    "\u00bc": (1, 4),
    "\u00be": (3, 4),
    "\u2155": (1, 5),
    "\u2156": (2, 5),
    "\u2157": (3, 5),
    "\u2158": (4, 5),
    "\u2159": (1, 6),
    "\u215a": (5, 6),
    "\u215b": (1, 8),
    "\u215c": (3, 8),
    "\u215d": (5, 8),
    "\u215e": (7, 8),
}

SUPERSCRIPTS = dict(
    zip(
        "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207f",
        "0123456789+-n",
        strict=True,
    )
)
SUBSCRIPTS = dict(
    zip(
        "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089\u208a\u208b\u2099",
        "0123456789+-n",
        strict=True,
    )
)
TABLE: dict[int, str] = {
    **{ord(sign): latex for latex, signs in _SIGNS.items() for sign in signs},
    **{0x3B1 + place: f"\\{name} " for place, name in enumerate(_GREEK)},
    **{ord(letter): f"\\{name} " for letter, name in _CAPITALS.items()},
    **{ord(sign): f"\\frac{{{p}}}{{{q}}}" for sign, (p, q) in _FRACTIONS.items()},
    **{0xFF01 + place: chr(0x21 + place) for place in range(94)},
    **dict.fromkeys((*range(9), *range(11, 32), *range(0x7F, 0xA0)), " "),
    0x0D: "\n",
}
"""For `str.translate`: full-width forms become ASCII, control characters spaces."""
