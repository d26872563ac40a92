"""Layers that bring each window down to one number."""
