"""Readers of text files: comma-separated numbers, and characters."""
