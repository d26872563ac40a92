"""DataFrame columns of a network's outputs: predictions, probabilities, scores."""

from typing import NamedTuple

import numpy as np

from sparkdl.nn.execution.forward import Z
from sparkdl.spark.inference.predictions import best_class, layer_columns

CLASSES, YES_OR_NO, VALUES = "classes", "yes or no", "values"  # kinds of outputs


class OutputColumns(NamedTuple):
    """The columns of one output; "" for a column that is not wanted.

    Parameters
    ----------
    layer : str
    kind : str
        CLASSES: a probability per class; YES_OR_NO: only that of class 1; VALUES: neither.
    prediction, probability, raw : str
        Names of the columns of classes or values, probabilities, and scores; see raw_scores.
    thresholds : tuple of float, optional
        The class with the largest probability / threshold is predicted; see HasThresholds of
        pyspark.ml.
    """

    layer: str
    kind: str
    prediction: str
    probability: str = ""
    raw: str = ""
    thresholds: tuple[float, ...] | None = None

    @property
    def layers(self):
        """Names of the outputs requested from the network."""
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
    """Returns (n, classes) float64; outputs of sequences are returned as they are."""
    if y.ndim > 2:
        return y
    y = y.astype(np.float64)
    return np.concatenate([1 - y, y], axis=1) if kind == YES_OR_NO else y


def raw_scores(z, kind):
    """Returns the scores of classes, (n, classes) float64; those of sequences as they are.

    Scores are z, except for two classes: -m and m, as BinaryClassificationEvaluator and OneVsRest
    of pyspark.ml use only the second number. m is z of a binary output; of two units it is half the
    difference of z between class 1 and class 0, which leaves the softmax unchanged.
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
    """Returns the class of each record or step, as `best_class`; thresholds are for records."""
    return best_class(y if y.ndim > 2 else divide_by_thresholds(y, thresholds))


def divide_by_thresholds(y, thresholds):
    """Returns each probability / threshold, (n, classes); the class of the largest is predicted."""
    if thresholds is None:
        return y
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = np.asarray(thresholds)
        return np.where(limits == 0, np.inf, y / limits)


def layers_of(outputs):
    """Returns the outputs that several OutputColumns need from a network, without duplicates."""
    return tuple(dict.fromkeys(layer for output in outputs for layer in output.layers))


def compute_outputs(outputs, model, transform, batches):
    """Yields {column: array} of each Batch, for a sequence of OutputColumns."""
    for results in layer_columns(layers_of(outputs), model, transform, batches):
        columns = {}
        for output in outputs:
            columns |= output.arrays(results)
        yield columns
