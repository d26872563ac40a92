"""Training on a stream of micro-batches."""
