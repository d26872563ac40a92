"""Random networks, computed on two backends and compared: the oracle of the test suite."""
