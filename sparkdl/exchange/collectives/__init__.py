"""Collectives of a group, one per file.

Steps are generators over a Call: they send data, and yield the receipts of the data they need next.
They work on flat numpy arrays, and give the same bits on every rank for the same calls.
"""
