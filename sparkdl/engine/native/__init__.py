"""Kernels compiled as programs need them: what oneDNN does not compute, without numpy's passes."""
