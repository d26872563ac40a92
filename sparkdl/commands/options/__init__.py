"""Parsers of options from the command line and its files."""
