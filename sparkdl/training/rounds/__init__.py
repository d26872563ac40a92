"""A round of training: where it is cut, and what a worker computes in it."""
