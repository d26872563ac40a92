"""Processes that compute for Spark tasks, on GPUs or for several workers of one task."""
