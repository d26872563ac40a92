"""Networks drawn at random, computed by two backends, and compared: the oracle of the suite."""
