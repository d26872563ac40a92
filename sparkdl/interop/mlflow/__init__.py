"""Fits as runs of MLflow, and networks as its models."""
