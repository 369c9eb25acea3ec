"""Numbers with their noun."""


def counted(count: int, what: str) -> str:
    """`1 call`, `2 calls`, `2 strategies`."""
    if count == 1:
        return f"1 {what}"
    return f"{count:,} {what[:-1]}ies" if what.endswith("y") else f"{count:,} {what}s"
