"""Gradient sharing: workers exchange compressed gradients after each minibatch."""
