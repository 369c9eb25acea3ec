"""`python -m tmas_graph`: the command line."""

from tmas_graph.cli import main

if __name__ == "__main__":
    main()
