"""Selects the predictions to evaluate: steps of sequences that count, all places of images."""

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.nn.inputs.columns import label_mask_of, mask_of


def predictions_to_judge(conf, batch, predictions, losses):
    """Returns predictions, labels and losses of the places that count, a row for each.

    Of several outputs the main one is judged. What a mask leaves out and labels that the loss
    ignores do not count. The loss of an example that is a mean or sum over steps is spread over
    those that count, so that the mean over all is the mean per step.

    Parameters
    ----------
    batch : Batch
    predictions : (n, units), (n, T, units) or (n, units, H, W)
    losses : (n,)

    Returns
    -------
    predictions (m, units), labels (m,) or (m, k), losses (m,)

    Raises
    ------
    ConfigError
        Where the main output has no labels.
    """
    place, column = conf.main, conf.label_column(conf.main)
    if column is None:
        raise ConfigError(f"{place.name} reads no labels, so there is nothing to evaluate it with")
    labels = batch.columns[column]
    if place.layer.loss.of_sequence:
        return predictions, labels, losses
    counted = count_places(conf, batch, column, predictions)
    known = place.layer.loss.counts(labels)
    if known is not None:
        counted = counted & (known != 0).reshape(counted.shape)
    counts = counted.sum(axis=1)
    each = losses / np.maximum(counts, 1) if place.layer.reduction == "sum" else losses
    flat = counted.reshape(-1)
    return (
        rows(predictions)[flat],
        (labels.reshape(-1) if labels.ndim < predictions.ndim else rows(labels))[flat],
        np.repeat(each, counts),
    )


def count_places(conf, batch, column, predictions):
    """Returns whether each step or place of each example counts, (n, places)."""
    n = len(predictions)
    places = predictions.size // max(1, n * units(predictions))
    masks = [label_mask_of(column), *(mask_of(name) for name in conf.feature_columns)]
    for name in masks if predictions.ndim == 3 else ():
        mask = batch.columns.get(name)
        if mask is not None and mask.shape == (n, places):
            return mask > 0
    return np.ones((n, places), bool)


def units(x):
    return x.shape[1] if x.ndim != 3 else x.shape[2]


def rows(x):
    """Returns (m, units) of (n, units), (n, T, units) or (n, units, H, W)."""
    return (np.moveaxis(x, 1, -1) if x.ndim > 3 else x).reshape(-1, units(x))
