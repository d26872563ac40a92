"""Layers of several inputs, and layers that regroup the examples of a batch."""
