"""Cases as data, one JSON object a line; each says where it comes from."""

import json
from pathlib import Path
from typing import Any


def cases(name: str) -> list[dict[str, Any]]:
    """The cases in `name`.jsonl."""
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    found = [json.loads(line) for line in lines if line]
    assert all(case["source"] for case in found)
    return found
