"""Scripted servers that stand in for a model, over real HTTP."""
