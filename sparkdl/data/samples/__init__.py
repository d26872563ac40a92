"""Data sets inside the package."""
