"""Layers that connect every input with every unit, and tables that are looked up."""
