"""The data that layers name, as sources with transforms."""
