"""Reader and writer of Hadoop's SequenceFiles."""
