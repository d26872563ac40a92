"""Layers whose output is compared with labels, or that add a loss."""
