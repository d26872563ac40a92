"""Functions that turn a graph into one that this backend runs faster."""
