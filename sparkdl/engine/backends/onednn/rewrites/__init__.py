"""Rewrites to graphs that oneDNN runs faster, and the operations that they introduce."""
