"""Collectives of the ranks of a group; each file holds the steps of one.

Steps are generators over a Call: they send, and yield the receipts of what they need next. They
see flat numpy arrays. On every rank the same calls give the same bits.
"""
