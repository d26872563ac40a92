"""Spark jobs: descriptions, errors, slots, and values shared by their tasks."""
