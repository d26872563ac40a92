"""Tokenization of a DataFrame's texts."""
