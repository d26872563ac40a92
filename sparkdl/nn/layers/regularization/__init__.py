"""Regularization layers, which perturb their input at random in training."""
