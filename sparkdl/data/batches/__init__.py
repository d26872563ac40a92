"""Batches of records: columns and their checks; cutting, shuffling, padding, prefetching."""
