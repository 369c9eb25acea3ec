"""Extract, compare and select answers."""
