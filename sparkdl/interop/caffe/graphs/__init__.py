"""Nets as graphs of our layers."""
