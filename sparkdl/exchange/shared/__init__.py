"""Collectives of the processes of one machine, through memory that all of them map."""
