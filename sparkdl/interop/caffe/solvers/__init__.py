"""Solver files, and the training that they describe."""
