"""Keras models as predictors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, brief
from sparkdl.interop.keras.live.load import load_keras
from sparkdl.interop.live.maker import maker_of
from sparkdl.interop.predictors.predictor import ArraySpec, Predictor


class KerasPredictor(Predictor):
    """A keras.Model for prediction, with any inputs and outputs, on the backend of the driver's
    Keras.

    Inputs have the names that keras.Input gave them. Outputs have those of their layers ("lstm",
    "lstm_1" where one layer gives several), or the keys of a dict of outputs.

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
        pairs = zip(output_names(model), model.outputs, strict=True)
        self.outputs = {name: spec_of(tensor) for name, tensor in pairs}

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
        keras, model = load_keras(self._backend), self._build()
        names, structure = [*self.outputs], getattr(model, "input", model.inputs[0])

        def predict(arrays):
            given = [arrays[name] for name in self.inputs]
            y = model.predict_on_batch(keras.tree.pack_sequence_as(structure, given))
            named = dict(zip(names, keras.tree.flatten(y), strict=True))
            return {name: np.asarray(named[name]) for name in outputs}

        return predict


def output_names(model):
    """Returns unique names for a model's outputs, in the order of model.outputs."""
    given = getattr(model, "output", None)
    if isinstance(given, dict):
        paths = load_keras().tree.flatten_with_path(given)
        return distinct(["/".join(map(str, path)) for path, _ in paths])
    return distinct(getattr(model, "output_names", [model.layers[-1].name]))  # Sequential: its last


def distinct(names):
    """Returns unique names, with a number appended to repeated ones."""
    found = []
    for name in names:
        tries = (f"{name}_{i}" if i else name for i in range(len(found) + len(names) + 1))
        found.append(next(one for one in tries if one not in found))
    return found


def spec_of(tensor):
    return ArraySpec(str(tensor.dtype), tuple(tensor.shape[1:]))
