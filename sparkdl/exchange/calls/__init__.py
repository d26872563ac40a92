"""Calls of a group that are under way, and what moves them on."""
