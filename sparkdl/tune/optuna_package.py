"""Import of Optuna, which only drivers of searches need."""

from typing import Any

from sparkdl.errors import needs_package


def import_optuna() -> Any:
    """Returns the package; raises UnsupportedError, with the cure, if it is not installed."""
    with needs_package("Search", "Optuna on the driver", "pip install 'sparkdl-hadoop[tune]'"):
        import optuna
    return optuna
