"""Elastic averaging: springs tie the workers' parameters to a center."""
