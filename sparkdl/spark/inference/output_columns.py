"""Columns of a DataFrame for what a network's outputs give: predictions, probabilities, scores."""

from typing import NamedTuple

import numpy as np

from sparkdl.nn.execution.forward import Z
from sparkdl.spark.inference.predictions import layer_columns

CLASSES, YES_OR_NO, VALUES = "classes", "yes or no", "values"  # kinds of outputs


class OutputColumns(NamedTuple):
    """The columns of one output; "" is the name of one that is not wanted.

    Parameters
    ----------
    layer : str
    kind : str
        CLASSES: a probability for each; YES_OR_NO: that of class 1 alone; VALUES: neither.
    prediction, probability, raw : str
        Names of the class or values, the probabilities, and the scores; see raw_scores.
    thresholds : tuple of float, optional
        The class is that of the largest probability / threshold; see HasThresholds of pyspark.ml.
    """

    layer: str
    kind: str
    prediction: str
    probability: str = ""
    raw: str = ""
    thresholds: tuple[float, ...] | None = None

    @property
    def layers(self):
        """Names of what is asked of the network."""
        return [self.layer, *([self.layer + Z] if self.raw else [])]

    def arrays(self, results):
        """Returns {column: array} from {layer: array (n, ...)}."""
        y = results[self.layer]
        if self.kind == VALUES:
            value = y[:, 0].astype(np.float64) if y.shape[1:] == (1,) else y
            return wanted({self.prediction: value})
        columns = {self.probability: probabilities(y, self.kind)}
        columns[self.prediction] = predict_class(columns[self.probability], self.thresholds)
        if self.raw:
            columns[self.raw] = raw_scores(results[self.layer + Z], self.kind)
        return wanted(columns)


def wanted(columns):
    return {name: array for name, array in columns.items() if name}


def probabilities(y, kind):
    """Returns (n, classes) float64, or what sequences have for each step as it is."""
    if y.ndim > 2:
        return y
    y = y.astype(np.float64)
    return np.concatenate([1 - y, y], axis=1) if kind == YES_OR_NO else y


def raw_scores(z, kind):
    """Returns a score of each class, (n, classes) float64, or what sequences have as it is.

    That is z, but of two classes -m and m, for BinaryClassificationEvaluator and OneVsRest of
    pyspark.ml look at the second number alone. m is z of a yes or no; of two units it is half the
    z of class 1 minus that of class 0, so that softmax gives what it gives of z.
    """
    if z.ndim > 2:
        return z
    z = z.astype(np.float64)
    if kind == YES_OR_NO:
        return np.concatenate([-z, z], axis=1)
    if z.shape[1] != 2:
        return z
    margin = (z[:, 1:] - z[:, :1]) / 2
    return np.concatenate([-margin, margin], axis=1)


def predict_class(y, thresholds):
    """Returns the class of each record, (n,) float64, or of each step, (n, T) float32."""
    if y.ndim > 2:
        return y.argmax(axis=2 if y.ndim == 3 else 1).astype(np.float32)
    return divide_by_thresholds(y, thresholds).argmax(axis=1).astype(np.float64)


def divide_by_thresholds(y, thresholds):
    """Returns each probability / threshold, (n, classes); of which the largest is predicted."""
    if thresholds is None:
        return y
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = np.asarray(thresholds)
        return np.where(limits == 0, np.inf, y / limits)


def layers_of(outputs):
    """Returns what several OutputColumns ask of a network, each once."""
    return tuple(dict.fromkeys(layer for output in outputs for layer in output.layers))


def compute_outputs(outputs, model, transform, batches):
    """Yields {column: array} of each Batch, for a sequence of OutputColumns."""
    for results in layer_columns(layers_of(outputs), model, transform, batches):
        columns = {}
        for output in outputs:
            columns |= output.arrays(results)
        yield columns
