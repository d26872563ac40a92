"""What a network takes: the schema of its records, and minibatches of them."""
