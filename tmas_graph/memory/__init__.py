"""The two banks."""
