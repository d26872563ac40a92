"""Synchronous SGD: all workers add up their gradients for every update."""
