"""A network on a backend: the forward pass, the programs of a replica, their times."""
