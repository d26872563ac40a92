"""Execution of a network on a backend: the forward pass, the programs of a replica, timing."""
