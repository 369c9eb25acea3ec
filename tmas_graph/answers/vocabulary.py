"""The words that an answer may hold and still be mathematics: units, percent, separators."""

from fractions import Fraction


def words(text: str) -> tuple[str, ...]:
    """Cut a line of words."""
    return tuple(text.split())


_LENGTH = {"mm": "1/1000", "cm": "1/100", "dm": "1/10", "m": "1", "km": "1000",
           "millimeter": "1/1000", "centimeter": "1/100", "meter": "1", "metre": "1",
           "kilometer": "1000", "kilometre": "1000", "centimetre": "1/100",
           "inch": "127/5000", "inche": "127/5000", "in": "127/5000", "ft": "381/1250",
           "foot": "381/1250", "feet": "381/1250", "yard": "1143/1250",
           "mile": "1609344/1000"}  # fmt: skip
_TIME = {"s": "1", "sec": "1", "second": "1", "min": "60", "minute": "60", "h": "3600",
         "hr": "3600", "hour": "3600", "day": "86400", "week": "604800"}  # fmt: skip
_MASS = {"mg": "1/1000000", "g": "1/1000", "gram": "1/1000", "kg": "1", "kilogram": "1",
         "ton": "1000", "tonne": "1000"}  # fmt: skip
_VOLUME = {"ml": "1/1000", "mL": "1/1000", "l": "1", "L": "1", "liter": "1", "litre": "1"}
_DIMENSIONS = {"length": _LENGTH, "time": _TIME, "mass": _MASS, "volume": _VOLUME}

MEASURES: dict[str, tuple[str, Fraction]] = {
    name: (dimension, Fraction(factor))
    for dimension, units in _DIMENSIONS.items()
    for name, factor in units.items()
}
"""Dimension and factor of the units that convert into each other."""

COUNTED = frozenset(
    words(
        "unit sq square cubic cube sq. per dollar euro pound yuan rupee yen usd month year "
        "person people student child children man men woman women boy girl book page "
        "apple coin point "
        "way time solution triple pair game ball card marble ticket piece hz newton joule watt mph "
        "kmh rpm mole item number box boxe car dog cat tree egg degree radian rad "
        "页 个 只 元 米 人 岁 天 次 本 张 克 小时 分钟"
    )
)
"""Units that are dropped beside a number: what they count, the question says."""

PERCENT = frozenset(("percent", "pct", "percentage", "per cent"))
DEGREES = frozenset(("degree", "degrees"))
MULTIPLES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9,
             "trillion": 10**12}  # fmt: skip
SEPARATING = frozenset(("and", "or"))
APPROXIMATELY = frozenset(("approximately", "approx", "approx.", "about", "roughly"))
SPELT = {
    word: value
    for value, word in enumerate(
        words(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
            "fifteen sixteen seventeen eighteen nineteen twenty"
        )
    )
}
EMPTY = frozenset(("no solution", "no solutions", "none", "empty set", "the empty set",
                   "no real solutions", "no real solution"))  # fmt: skip
EVERYTHING = frozenset(("all real numbers", "all reals", "all real number", "any real number"))
OPPOSITES = frozenset(
    frozenset(pair.split("/"))
    for pair in words(
        "yes/no true/false odd/even finite/infinite positive/negative always/never "
        "convergent/divergent increasing/decreasing rational/irrational"
    )
)


def singular(word: str) -> str:
    """Give a unit's word without a plural s or a stop."""
    bare = word.rstrip(".")
    if bare in MEASURES or bare in COUNTED:
        return bare
    low = bare.lower()
    return low[:-1] if low.endswith("s") and len(low) > 2 else low
