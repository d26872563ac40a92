"""Configurations of whole networks, sequential or a graph."""
