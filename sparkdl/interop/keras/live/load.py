"""Loads Keras on one of its backends."""

import os
import sys
from importlib.util import find_spec
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.training.rounds.replica import count_threads

SHARING = {  # has JAX and TensorFlow leave a GPU's memory to others until they need it
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}
BACKENDS = ("jax", "tensorflow", "torch")  # those that compute gradients


def load_keras(backend: str | None = None) -> Any:
    """Returns keras.

    Parameters
    ----------
    backend : str or None
        One of BACKENDS. None: what KERAS_BACKEND says, else the first that is installed; where this
        process has loaded Keras, its own.

    Raises
    ------
    ConfigError
        Keras or the backend is not installed, or this process has loaded it on another.
    """
    keras = sys.modules.get("keras") or import_keras(backend or chosen_backend())
    found = keras.backend.backend()
    check_gradients(found)
    if backend not in (None, found):
        raise ConfigError(
            f"KerasModel.backend must be that of Keras in each process, got {backend!r} where it "
            f"was loaded on {found}; set KERAS_BACKEND={backend} before Keras is loaded"
        )
    return keras


def import_keras(backend: str) -> Any:
    """Returns keras on a backend; ConfigError where one is not installed, or has no gradients."""
    check_gradients(backend)  # before it is loaded: a process has one Keras for good
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
    """Raises ConfigError for a backend of Keras that computes none."""
    if backend not in BACKENDS:
        raise ConfigError(
            f"the backend of Keras must be one of {', '.join(BACKENDS)}, which compute gradients, "
            f"got {backend}; set KERAS_BACKEND before Keras is loaded"
        )


def current_backend() -> str:
    """Returns the backend that this process has Keras on, or will have; loads nothing."""
    keras = sys.modules.get("keras")
    return keras.backend.backend() if keras else chosen_backend()


def chosen_backend() -> str:
    """Returns the backend that Keras is loaded on where nobody names one."""
    installed = [name for name in BACKENDS if find_spec(name)]
    return os.environ.get("KERAS_BACKEND") or (installed or BACKENDS)[0]
