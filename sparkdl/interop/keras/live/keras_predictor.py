"""Models of Keras as predictors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, brief
from sparkdl.interop.keras.live.load import load_keras
from sparkdl.interop.live.maker import maker_of
from sparkdl.interop.predictors.predictor import ArraySpec, Predictor


class KerasPredictor(Predictor):
    """A keras.Model in use, with any inputs and outputs, on the backend of the driver's Keras.

    Parameters
    ----------
    make : function
        Without arguments; returns the model with its weights, e.g. by keras.models.load_model. It
        runs here once, for names and shapes, and in each process of the executors.

    Raises
    ------
    ConfigError
        `make` gives no model whose inputs are known; Keras or its backend is missing.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = maker_of(make, "KerasPredictor")
        self._backend = load_keras().backend.backend()
        model = self._build()
        self.inputs = {tensor.name: spec_of(tensor) for tensor in model.inputs}
        names = getattr(model, "output_names", [model.layers[-1].name])  # of Sequential: its last
        self.outputs = {
            name: spec_of(tensor) for name, tensor in zip(names, model.outputs, strict=True)
        }

    def _build(self):
        keras = load_keras(self._backend)
        model = self.make()
        if not isinstance(model, keras.Model) or not getattr(model, "inputs", None):
            raise ConfigError(
                "KerasPredictor.make must return a keras.Model whose inputs are known, got "
                f"{brief(model)}; begin it with keras.Input"
            )
        return model

    def load(self, outputs: list[str]) -> Any:
        model, names = self._build(), [*self.outputs]

        def predict(arrays):
            given = [arrays[name] for name in self.inputs]
            y = model.predict_on_batch(given if len(given) > 1 else given[0])
            found = y if isinstance(y, list | tuple) else [y]
            named = dict(zip(names, found, strict=True))
            return {name: np.asarray(named[name]) for name in outputs}

        return predict


def spec_of(tensor):
    return ArraySpec(str(tensor.dtype), tuple(tensor.shape[1:]))
