"""Kernels compiled on demand: what oneDNN does not compute, without the extra passes of numpy."""
