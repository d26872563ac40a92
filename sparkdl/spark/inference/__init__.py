"""Inference on Spark: predictions, features, evaluations, and tables of them."""
