"""Loads Keras on one of its backends."""

import os
import sys
from importlib.util import find_spec
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.training.rounds.replica import count_threads

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
    if "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = backend or chosen_backend()
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(count_threads()))
    try:
        import keras
    except ImportError as error:
        wanted = os.environ["KERAS_BACKEND"]
        raise ConfigError(
            f"a KerasModel needs Keras and {wanted} in each process, got {error}; pip install "
            f"keras {wanted}"
        ) from error
    found = keras.backend.backend()
    if found not in BACKENDS:
        raise ConfigError(
            f"the backend of Keras must be one of {', '.join(BACKENDS)}, which compute gradients, "
            f"got {found}; set KERAS_BACKEND before Keras is loaded"
        )
    if backend not in (None, found):
        raise ConfigError(
            f"KerasModel.backend must be that of Keras in each process, got {backend!r} where it "
            f"was loaded on {found}; set KERAS_BACKEND={backend} before Keras is loaded"
        )
    return keras


def chosen_backend() -> str:
    """Returns the backend that Keras is loaded on where nobody names one."""
    installed = [name for name in BACKENDS if find_spec(name)]
    return os.environ.get("KERAS_BACKEND") or (installed or BACKENDS)[0]
