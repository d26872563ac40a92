"""Fits and networks in MLflow: `autolog()`, a listener, and networks as MLflow models."""

from sparkdl.interop.mlflow.autolog import autolog
from sparkdl.interop.mlflow.logger import MLflowLogger
from sparkdl.interop.mlflow.model_flavor import _load_pyfunc as _load_pyfunc  # required by MLflow
from sparkdl.interop.mlflow.model_flavor import load_model, log_model, save_model

__all__ = ["autolog", "load_model", "log_model", "MLflowLogger", "save_model"]
