"""Optuna, which only drivers that search need; executors never import it."""

from typing import Any

from sparkdl.errors import UnsupportedError


def import_optuna() -> Any:
    """Returns the package; UnsupportedError with the cure where it is not installed."""
    try:
        import optuna
    except ImportError as error:
        raise UnsupportedError(
            f"Search needs Optuna on the driver: pip install 'sparkdl-hadoop[tune]' ({error})"
        ) from error
    return optuna
