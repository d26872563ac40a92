"""Elementwise layers, and layers that reduce many numbers to one."""
