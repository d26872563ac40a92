"""Calls in progress within a group, and the engine that advances them."""
