"""Layers that rearrange, crop, pad or repeat the numbers of an example."""
