"""Estimated speed of one server core, for choices that need no precision."""

FLOPS = 6e10  # per second, in a product that fits in the caches
BYTES = 1.5e10  # per second, read and written
