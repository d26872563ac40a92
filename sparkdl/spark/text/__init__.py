"""Texts of a DataFrame as ids of tokens."""
