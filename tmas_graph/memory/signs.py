"""Tables of the signs of mathematics: Unicode, LaTeX, and functions written out."""

FUNCTIONS = frozenset({
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh",
    "tanh", "log", "ln", "exp", "gcd", "lcm", "max", "min", "sup", "inf", "lim", "det",
    "deg", "dim", "ker", "arg", "sqrt", "binom", "floor", "ceil", "mod",
})  # fmt: skip
SHORT = frozenset({
    "am", "an", "as", "at", "be", "by", "do", "go", "he", "if", "in", "is", "it", "me",
    "my", "no", "of", "on", "or", "so", "to", "up", "us", "we",
})  # fmt: skip
"""Words of two letters; others stand for products of variables."""
ACRONYMS = frozenset({
    "AM", "GM", "HM", "QM", "RMS", "WLOG", "LCM", "GCD", "IFF", "QED", "MVT", "IVT", "CRT",
    "LTE", "PHP",
})  # fmt: skip
SIGNS = {
    "−": "-", "–": "-", "·": "*", "×": "*", "⋅": "*", "∗": "*", "÷": "/", "⁄": "/", "≤": "<=",
    "⩽": "<=", "≥": ">=", "⩾": ">=", "≠": "!=", "∞": "infty", "√": "sqrt", "π": "pi", "°": "°",
    "∠": "angle", "∥": "parallel", "⊥": "perp", "∣": "DIV", "∤": "NDIV", "⇒": "=>", "⟹": "=>",
    "→": "->", "⟶": "->", "⇐": "<==", "⟸": "<==", "⇔": "<=>", "⟺": "<=>", "…": "...", "⋯": "...",
    "′": "'", "’": "'",
}  # fmt: skip
COMMANDS = {
    "le": "<=", "leq": "<=", "leqslant": "<=", "ge": ">=", "geq": ">=", "geqslant": ">=",
    "lt": "<", "gt": ">", "ne": "!=", "neq": "!=", "cdot": "*", "times": "*", "div": "/",
    "mid": "DIV", "divides": "DIV", "nmid": "NDIV", "lvert": "|", "rvert": "|", "vert": "|",
    "implies": "=>", "Rightarrow": "=>", "Longrightarrow": "=>", "impliedby": "<==",
    "Leftarrow": "<==", "Longleftarrow": "<==", "iff": "<=>", "Leftrightarrow": "<=>",
    "Longleftrightarrow": "<=>", "to": "->", "rightarrow": "->", "ldots": "...", "dots": "...",
    "cdots": "...", "dotsc": "...", "dfrac": "frac", "tfrac": "frac", "cfrac": "frac",
    "dbinom": "binom", "tbinom": "binom", "in": "∈", "notin": "∉", "subset": "⊂",
    "subseteq": "⊆", "supset": "⊃", "supseteq": "⊇", "cup": "∪", "cap": "∩", "forall": "∀",
    "exists": "∃", "nexists": "∄", "neg": "¬", "lnot": "¬", "land": "∧", "lor": "∨", "equiv": "≡",
    "approx": "≈", "sum": "∑", "prod": "∏", "int": "∫", "emptyset": "∅", "varnothing": "∅",
    "setminus": "∖", "pm": "±", "mp": "∓", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ",
    "epsilon": "ε", "varepsilon": "ε", "theta": "θ", "lambda": "λ", "mu": "μ", "phi": "φ",
    "varphi": "φ", "omega": "ω", "sigma": "σ", "tau": "τ", "rho": "ρ", "bmod": "mod", "pmod": "mod",
    "prime": "'", "lbrace": "{{", "rbrace": "}}", "langle": "⟨", "rangle": "⟩", "degree": "°",
}  # fmt: skip
