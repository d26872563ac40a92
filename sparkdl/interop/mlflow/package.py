"""Import of MLflow, if installed."""

from typing import Any

from sparkdl.errors import needs_package


def load_package() -> Any:
    """Imports mlflow; raises UnsupportedError, which says how to install it."""
    with needs_package("sparkdl.mlflow", "mlflow", "pip install 'sparkdl-hadoop[mlflow]'"):
        import mlflow
    return mlflow
