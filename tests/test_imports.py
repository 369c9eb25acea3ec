import ast
import subprocess
import sys
from pathlib import Path

import tmas_graph

SOURCE = Path(tmas_graph.__file__).parent


def test_the_order_of_imports_holds() -> None:
    code = "from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", code, "--no-cache"]
    done = subprocess.run(command, cwd=SOURCE.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_the_clients_of_openai_are_loaded_only_where_someone_listens() -> None:
    """They take a second of a process's start."""
    code = "import sys, tmas_graph.threads; print({'openai', 'langchain_openai'} & {*sys.modules})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=SOURCE.parent, capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("set()", 0), done.stderr


def calls_of(name: str) -> set[str]:
    """The files that call the built-in function `name`."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                found.add(path.relative_to(SOURCE).as_posix())
    return found


def test_nothing_is_printed_outside_the_command_line() -> None:
    printing = calls_of("print")
    assert printing
    assert {path for path in printing if not path.startswith("cli/")} == set()


def test_the_environment_is_read_only_at_the_edge() -> None:
    reading = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "os.environ" in path.read_text() or "getenv" in path.read_text()
    }
    # catalogue.py hands the environment on to pip; whether spans hold messages is OpenTelemetry's
    # own variable, which its users set for every library at once.
    assert reading == {
        "configuration.py",
        "evaluation/ray_executor.py",
        "grpo/__main__.py",
        "cli/options.py",
        "cli/telemetry.py",
        "cli/train_run.py",
        "models/catalogue.py",
        "models/telemetry.py",
    }
