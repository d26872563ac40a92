"""Layers that put filters on windows."""
