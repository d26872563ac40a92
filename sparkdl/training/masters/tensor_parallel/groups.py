"""Number of workers that hold one copy of a network together."""

from sparkdl.errors import ConfigError


def degree_of(master, workers):
    """Returns the number of workers that hold a network; ConfigError unless it divides them all."""
    degree = workers if master.degree == "auto" else master.degree
    if workers % degree:
        raise ConfigError(
            f"TensorParallel.degree must be a divisor of {workers}, the number of workers, got "
            f"{degree}; change `workers` or degree"
        )
    return degree
