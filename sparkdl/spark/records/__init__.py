"""Data on the executors: records, blocks, data frames, and where their bytes lie."""
