"""`python -m tmas_graph.grpo`: what the trainer does without the rest of the package."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tmas_graph.errors import TmasError
from tmas_graph.grpo.tied import untied_copy


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the user's mistakes end it with 2."""
    parser = argparse.ArgumentParser(prog="python -m tmas_graph.grpo", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    untie = commands.add_parser(
        "untie", help="copy a model so that its output head is a tensor of its own"
    )
    untie.add_argument("source", type=Path, metavar="SRC", help="folder of a tied model")
    untie.add_argument("target", type=Path, metavar="DST", help="folder for the copy")
    untie.set_defaults(run=_untie)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except TmasError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _untie(options: argparse.Namespace) -> None:
    untied_copy(options.source, options.target)
    sys.stdout.write(f"{options.target}: an untied copy of {options.source}\n")


if __name__ == "__main__":
    sys.exit(main())
