"""MLflow, where it is installed."""

from typing import Any

from sparkdl.errors import needs_package


def load_package() -> Any:
    """Returns mlflow; UnsupportedError, which says how to get it, where there is none."""
    with needs_package("sparkdl.mlflow", "mlflow", "pip install 'sparkdl-hadoop[mlflow]'"):
        import mlflow
    return mlflow
