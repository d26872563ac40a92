"""Data sets included in the package."""
