"""Batches of records: their columns and checks; cutting, shuffling, padding, prefetching."""
