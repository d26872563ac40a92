"""Nets as graphs of sparkdl layers."""
