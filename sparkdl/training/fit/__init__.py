"""Ways to fit a network: in rounds of minibatches, on all examples at once, layer by layer."""
