"""Sliding windows: their number, their padding, and the base layers that use them."""
