"""Readers of storage formats, which yield Batches."""
