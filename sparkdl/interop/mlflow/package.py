"""MLflow, where it is installed."""

from typing import Any

from sparkdl.errors import UnsupportedError


def load_package() -> Any:
    """Returns mlflow; UnsupportedError, which says how to get it, where there is none."""
    try:
        import mlflow
    except ImportError as error:
        cure = "pip install 'sparkdl-hadoop[mlflow]'"
        raise UnsupportedError(f"sparkdl.mlflow needs mlflow; {cure}") from error
    return mlflow
