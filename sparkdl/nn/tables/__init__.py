"""Embedding tables outside the parameter vector: a step costs only the rows that it touches."""
