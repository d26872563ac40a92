"""Functions that rewrite a graph into one that this backend runs faster."""
