"""Avro files of records."""
