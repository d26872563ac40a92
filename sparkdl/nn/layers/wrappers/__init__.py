"""Layers that wrap another layer."""
