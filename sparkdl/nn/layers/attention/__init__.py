"""Layers in which every step looks at the steps of a sequence."""
