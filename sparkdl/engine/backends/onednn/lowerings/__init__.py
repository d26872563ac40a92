"""Lowerings of single nodes to oneDNN primitives or compiled loops."""
