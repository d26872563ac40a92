"""Inputs of training: the schema of a network's records, and minibatches of them."""
