"""Checks, before a fit, for anything that keeps a cluster from training."""
