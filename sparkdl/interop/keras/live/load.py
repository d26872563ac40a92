"""Loading of Keras on one of its backends."""

import os
import sys
from importlib.util import find_spec
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.training.rounds.replica import count_threads

SHARING = {  # makes JAX and TensorFlow allocate GPU memory on demand
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}
BACKENDS = ("jax", "tensorflow", "torch")  # backends that compute gradients


def load_keras(backend: str | None = None) -> Any:
    """Imports and returns keras.

    Parameters
    ----------
    backend : str or None
        One of BACKENDS. None: that of the loaded Keras, else KERAS_BACKEND, else the first
        installed.

    Raises
    ------
    ConfigError
        If Keras or the backend is not installed, or Keras is loaded on another backend.
    """
    keras = sys.modules.get("keras") or import_keras(backend or chosen_backend())
    found = keras.backend.backend()
    check_gradients(found)
    if backend not in (None, found):
        raise ConfigError(
            f"KerasModel.backend must be the backend of Keras in each process, got {backend!r} "
            f"where Keras was loaded with {found}; set KERAS_BACKEND={backend} before Keras is "
            "loaded"
        )
    return keras


def import_keras(backend: str) -> Any:
    """Imports keras on a backend; raises ConfigError if it is missing or has no gradients."""
    check_gradients(backend)  # before the import, as a process cannot change Keras's backend
    before = os.environ.get("KERAS_BACKEND")
    os.environ["KERAS_BACKEND"] = backend
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(count_threads()))
    for name, value in SHARING.items():
        os.environ.setdefault(name, value)
    try:
        import keras
    except ImportError as error:
        del os.environ["KERAS_BACKEND"]
        if before is not None:
            os.environ["KERAS_BACKEND"] = before
        raise ConfigError(
            f"a KerasModel needs Keras and {backend} in each process, got {error}; pip install "
            f"keras {backend}"
        ) from error
    return keras


def check_gradients(backend: str) -> None:
    """Raises ConfigError for a backend without gradients."""
    if backend not in BACKENDS:
        raise ConfigError(
            f"the backend of Keras must be one of {', '.join(BACKENDS)}, which compute gradients, "
            f"got {backend}; set KERAS_BACKEND before Keras is loaded"
        )


def current_backend() -> str:
    """Returns the backend of the loaded Keras, or the one it would get; loads nothing."""
    keras = sys.modules.get("keras")
    return keras.backend.backend() if keras else chosen_backend()


def chosen_backend() -> str:
    """Returns the default backend of Keras."""
    installed = [name for name in BACKENDS if find_spec(name)]
    return os.environ.get("KERAS_BACKEND") or (installed or BACKENDS)[0]
