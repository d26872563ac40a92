"""Encodings of one value or record, whatever file it stands in."""
