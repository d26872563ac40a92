"""Functions that turn one node into oneDNN primitives or compiled loops."""
