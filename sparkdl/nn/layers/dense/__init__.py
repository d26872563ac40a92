"""Layers that connect every input to every unit, and lookup tables."""
