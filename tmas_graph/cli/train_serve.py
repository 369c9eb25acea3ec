"""`tmas train serve`: the command that starts vLLM for a trainer."""

from typing import Annotated, Literal

import typer


def serve(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Folder, or name on the Hugging Face hub.")
    ],
    push: Annotated[
        Literal["lora", "disk", "nccl"],
        typer.Option(help="How the trainer pushes weights: an adapter, a folder, GPU to GPU."),
    ] = "lora",
    gpus: Annotated[
        int, typer.Option(min=1, help="GPUs that the model is spread over (tensor parallel).")
    ] = 1,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port, on 127.0.0.1.")] = 8000,
    lora_rank: Annotated[
        int, typer.Option(min=1, help="Rank of the adapter that is trained.")
    ] = 16,
    max_model_len: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of prompt and completion; default: the model's own."),
    ] = None,
    dtype: Annotated[
        str | None, typer.Option(help="As vLLM's --dtype; default: the model's own.")
    ] = None,
) -> None:
    """Print the command that serves MODEL with vLLM so that it can be trained."""
    from rich.console import Console

    from tmas_graph.cli.plain import words
    from tmas_graph.grpo.serving import WARNING, Serving, command_of

    serving = Serving(model, push, gpus, port, lora_rank, max_model_len, dtype)
    print(command_of(serving).shell())  # noqa: T201
    Console(stderr=True).print(words(f"* {WARNING}", "yellow"), soft_wrap=True)
