"""A server that plays the agents without thinking, so that what calls it is what limits."""
