"""Records that a network takes, and their conversion to Batches."""
