"""Spark jobs: their names, their errors, their slots, and what their tasks share."""
