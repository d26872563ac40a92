"""Collectives in two levels: shared memory within a machine, sockets between machines."""
