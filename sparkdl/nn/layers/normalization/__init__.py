"""Layers that bring numbers to a common scale."""
