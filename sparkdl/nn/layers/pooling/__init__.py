"""Pooling layers, which reduce each window to one number."""
