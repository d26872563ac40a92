"""Functions that lower a node to launches of kernels or calls of a library."""
