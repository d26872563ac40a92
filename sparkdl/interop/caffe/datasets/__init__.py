"""Data named by layers, as sources with transforms."""
