"""Weights, solver states and snapshots."""
