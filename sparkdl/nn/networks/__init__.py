"""The configuration of a whole network, sequential or a graph."""
