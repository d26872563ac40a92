"""A model of Keras as functions of numpy's arrays, on each of Keras's backends."""

from importlib import import_module
from typing import Any

MODULES = {"jax": "JaxFunctions", "tensorflow": "TensorFlowFunctions", "torch": "TorchFunctions"}


def functions_of(model: Any, backend: str, gpu: int | None = None) -> Any:
    """Returns the ModelFunctions of a model on a backend, which its process has loaded.

    They compute on the GPU of that number, or on the processor where it is None.
    """
    module = import_module(f"{__package__}.{backend}_functions")
    return getattr(module, MODULES[backend])(model, gpu)
