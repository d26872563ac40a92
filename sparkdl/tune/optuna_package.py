"""Optuna, which only drivers that search need; executors never import it."""

from typing import Any

from sparkdl.errors import needs_package


def import_optuna() -> Any:
    """Returns the package; UnsupportedError with the cure where it is not installed."""
    with needs_package("Search", "Optuna on the driver", "pip install 'sparkdl-hadoop[tune]'"):
        import optuna
    return optuna
