"""Layers that learn without labels."""
