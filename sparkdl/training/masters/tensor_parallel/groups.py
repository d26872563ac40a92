"""The workers that hold a network together."""

from sparkdl.errors import ConfigError


def degree_of(master, workers):
    """Returns how many workers hold a network; ConfigError where that does not divide them."""
    degree = workers if master.degree == "auto" else master.degree
    if workers % degree:
        raise ConfigError(
            f"TensorParallel.degree must be a divisor of {workers}, the number of workers, got "
            f"{degree}; change `workers` or degree"
        )
    return degree
