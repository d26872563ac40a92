"""Parsers of the options that the command line and its files hold."""
