"""Writes what a benchmark found as JSON, with the machine, the commit and the parameters."""

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let `parser` take the file for the result."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there, too")


def written(file: Path | None, name: str, given: argparse.Namespace, figures: Any) -> None:
    """Write the figures of benchmark `name` to `file`, if there is one."""
    if file is None:
        return
    parameters = {key: _plain(value) for key, value in vars(given).items() if key != "json"}
    result: Mapping[str, Any] = {
        "benchmark": name,
        "machine": machine(),
        "commit": commit(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "parameters": parameters,
        "figures": figures,
    }
    file.write_text(json.dumps(result, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 1),
    }


def commit() -> str:
    """The commit that is measured, with a + where files differ from it; empty if unknown."""
    try:
        name = _git("rev-parse", "--short", "HEAD")
        return name + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
