"""Training: from a network and data to weights, on workers of any kind."""
