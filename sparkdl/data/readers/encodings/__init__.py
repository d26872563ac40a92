"""Encodings of single values or records, independent of the file format."""
