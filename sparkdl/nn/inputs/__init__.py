"""Inputs of a network from a batch: columns, shapes, labels, chunks of sequences."""
