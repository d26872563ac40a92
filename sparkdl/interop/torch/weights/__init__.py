"""Weights that PyTorch saved, read without it."""
