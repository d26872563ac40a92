"""Layers that compute number by number, or bring many numbers down to one."""
