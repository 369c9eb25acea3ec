"""Measure methods: problems with known answers, grading, statistics."""
