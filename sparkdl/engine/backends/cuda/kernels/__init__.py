"""CUDA C (source/) and how arrays and numbers reach its functions."""
