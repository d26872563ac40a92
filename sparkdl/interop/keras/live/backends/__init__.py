"""A Keras model as functions of numpy arrays, for each of Keras's backends."""

from importlib import import_module
from typing import Any

MODULES = {"jax": "JaxFunctions", "tensorflow": "TensorFlowFunctions", "torch": "TorchFunctions"}


def functions_of(model: Any, backend: str, gpu: int | None = None) -> Any:
    """Returns the ModelFunctions of a model on a backend, which the process must have loaded.

    They compute on the GPU with number `gpu`, or on the CPU if it is None.
    """
    module = import_module(f"{__package__}.{backend}_functions")
    return getattr(module, MODULES[backend])(model, gpu)
