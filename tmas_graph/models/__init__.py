"""Reaching a model."""
