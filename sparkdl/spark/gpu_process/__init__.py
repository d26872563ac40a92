"""Processes that compute on GPUs for Spark tasks."""
