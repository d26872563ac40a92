"""Recurrent layers, and layers that select steps of a sequence."""
