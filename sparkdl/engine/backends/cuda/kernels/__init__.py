"""CUDA C (source/), and how arrays and numbers are passed to its functions."""
