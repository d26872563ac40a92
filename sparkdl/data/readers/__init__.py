"""Storage formats, each turned into Batches."""
