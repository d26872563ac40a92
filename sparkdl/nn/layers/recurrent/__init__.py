"""Layers that pass over the steps of a sequence, and layers that choose among its steps."""
