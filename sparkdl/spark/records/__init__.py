"""Data on the executors: records, blocks and data frames, and where they are stored."""
