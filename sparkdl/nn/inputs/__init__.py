"""What a network takes of a batch: columns, shapes, labels, chunks of sequences."""
