"""Weights saved by PyTorch, read without PyTorch."""
