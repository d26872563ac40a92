"""Functions that turn one node into launches of kernels or calls of a library."""
