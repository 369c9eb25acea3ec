"""`python -m tmas_graph.grpo`: what the trainer does without the rest of the package."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tmas_graph.errors import TmasError
from tmas_graph.grpo.tied import untied_copy

_TRAINING = """\
Train a policy as CONFIG.toml says. An answer is right if the last boxed text is the reference
letter by letter; `tmas train run` grades by value instead. To copy a model whose output head is
tied to its embeddings, so that it can be pushed: python -m tmas_graph.grpo untie SRC DST"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the user's mistakes end it with 2, Ctrl-C with 130."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["untie"]:
            _untie(given[1:])
        else:
            _train(given)
    except TmasError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _untie(given: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tmas_graph.grpo untie",
        description="Copy a model so that its output head is a tensor of its own.",
    )
    parser.add_argument("source", type=Path, metavar="SRC", help="folder of a tied model")
    parser.add_argument("target", type=Path, metavar="DST", help="folder for the copy")
    options = parser.parse_args(given)
    untied_copy(options.source, options.target)
    sys.stdout.write(f"{options.target}: an untied copy of {options.source}\n")


def _train(given: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tmas_graph.grpo",
        description=_TRAINING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("config", type=Path, metavar="CONFIG.toml", help="settings of the run")
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting, e.g. loss.clip_high=0.3",
    )
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint")
    options = parser.parse_args(given)
    from tmas_graph.grpo.settings_file import load  # noqa: PLC0415

    settings = load(options.config, options.changes)
    from tmas_graph.grpo.run import train_in_terminal  # noqa: PLC0415  (loads torch)

    train_in_terminal(settings, os.environ, resume=options.resume)


if __name__ == "__main__":
    sys.exit(main())
