"""Tensor parallelism: the units of layers divided over workers."""
