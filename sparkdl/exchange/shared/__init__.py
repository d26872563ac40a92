"""Collectives of the processes of one machine through shared memory."""
