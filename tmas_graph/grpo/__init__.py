"""Trains a policy with GRPO and the hybrid reward; a package of its own beside the graph."""
