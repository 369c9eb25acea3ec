"""`tmas run --executor`: its options, and standard output that is ours alone."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tmas_graph.cli.commands import app
from tmas_graph.errors import MissingExtra
from tmas_graph.evaluation.ray_executor import RayExecutor

PRINTS = """
import os, subprocess, sys
from tmas_graph.cli.own_stdout import own_stdout
with own_stdout() as stdout:
    print("theirs")
    os.write(1, b"theirs")
    subprocess.run(["echo", "theirs"])
    print("ours", file=stdout)
print("ours again")
"""


def test_without_ray_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r'pip install "tmas-graph\[ray\]"'):
        RayExecutor()


@pytest.mark.parametrize("option", [("--workers", "2"), ("--ray-address", "127.0.0.1:1")])
def test_an_option_of_the_cluster_needs_the_executor(option) -> None:
    ended = CliRunner().invoke(app, ["run", "p.jsonl", *option], env={"COLUMNS": "200"})
    assert ended.exit_code == 2
    assert f"{option[0]} belongs to --executor ray" in ended.output


def test_no_workers_are_refused() -> None:
    ended = CliRunner().invoke(app, ["run", "p.jsonl", "--executor", "ray", "--workers", "0"])
    assert ended.exit_code == 2


def test_nobody_else_prints_to_stdout() -> None:
    command = [sys.executable, "-c", PRINTS]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert ended.stdout == "ours\nours again\n"
    assert ended.stderr == ""
