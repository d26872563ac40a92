"""Fits as MLflow runs, and networks as MLflow models."""
