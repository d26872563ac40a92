"""Pipeline: the layers of a network divided over workers."""
