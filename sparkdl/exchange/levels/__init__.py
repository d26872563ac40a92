"""Calls of a group in two levels: shared memory inside a machine, sockets between machines."""
