"""Training data out of recorded runs."""
