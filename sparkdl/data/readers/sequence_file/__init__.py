"""Hadoop's SequenceFiles, read and written."""
