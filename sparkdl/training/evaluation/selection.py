"""Selection of the predictions to evaluate: unmasked steps of sequences, all pixels of images."""

import math

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.nn.inputs.columns import NO_MASK, WEIGHTS, label_mask_of, weights_of_labels


def predictions_to_judge(replica, batch, predictions, losses, output=None):
    """Returns predictions, labels and losses of the places that count, one row per place.

    A place is a time step, a pixel, or the whole example. Places count unless they are masked, by
    the labels' mask or else the output's, or have a label that the loss ignores. An example's loss
    is spread over its places that count, so that the overall mean is the mean per place, whatever
    the layer's reduction; if other layers add to the loss, their sum is taken as it is.

    Parameters
    ----------
    batch : Batch
    predictions : (n, units), (n, T, units) or (n, units, H, W)
    losses : (n,)
    output : str, optional
        The output that predicted, with losses of its own; see Replica.losses. None: the main
        output, with the network's losses.

    Returns
    -------
    predictions (m, units), labels (m,) or (m, k), losses (m,)

    Raises
    ------
    ConfigError
        If the output has no labels.
    """
    place = replica.conf.output_named(output)
    labels = batch.columns[column_to_judge(replica.conf, output)]
    if not place.layer.loss.has_places:
        return predictions, labels, losses
    counted = count_places(replica, batch, predictions, output)
    reduction = reduction_of(replica.conf) if output is None else own_reduction(place)
    each = losses * share_of_place(reduction, counted)
    flat = counted.reshape(-1)
    flat = slice(None) if flat.all() else flat  # avoids a copy
    return (
        rows(predictions)[flat],
        (labels.reshape(-1) if labels.ndim < predictions.ndim else rows(labels))[flat],
        np.repeat(each, counted.sum(axis=1)),
    )


def column_to_judge(conf, output=None):
    """Returns the column of an output's labels; None: of the main output.

    Raises ConfigError with the outputs that read labels if this one reads none.
    """
    place = conf.output_named(output)
    column = conf.label_column(place)
    if column is None:
        known = list(conf.outputs_by_name)
        says = f"{place.name} reads no labels, so there is nothing to evaluate it with"
        if known:
            says += f"; give output={known[0]!r} to evaluate, "
            says += f"or one of {known} the largest loss_weight"
        raise ConfigError(says)
    return column


def weights_to_judge(replica, batch, predictions, output=None):
    """Returns the weights (m,) of what `predictions_to_judge` returns; None if there are none.

    Each place that counts has the weight of its example.
    """
    place = replica.conf.output_named(output)
    weights = weights_of_output(replica.conf, place, batch)
    if weights is None or not place.layer.loss.has_places:
        return weights
    counted = count_places(replica, batch, predictions, output)
    return np.repeat(weights, counted.sum(axis=1))


def weights_of_output(conf, place, batch):
    """Returns the weights (n,) of the examples for an output; None if there are none."""
    own = weights_of_labels(conf).get(conf.label_column(place))
    given = [batch.columns[name] for name in (WEIGHTS, own) if name in batch.columns]
    return math.prod(given) if given else None


def count_places(replica, batch, predictions, output=None):
    """Returns a mask (n, places) of the places of each example that count."""
    place = replica.conf.output_named(output)
    column = replica.conf.label_column(place)
    n = len(predictions)
    counted = np.ones((n, predictions.size // max(1, n * units(predictions))), bool)
    if predictions.ndim == 3:
        mask = mask_of_steps(replica, batch, column, output)
        counted = counted if mask is None else counted & mask
    labels = batch.columns[column]
    labels = rows(labels) if labels.ndim == predictions.ndim else labels
    known = place.layer.loss.counts(labels)
    return counted if known is None else counted & (known != 0).reshape(counted.shape)


def mask_of_steps(replica, batch, column, output=None):
    """Returns the mask of the labels, or else of the output: bools (n, T), or None."""
    own = batch.columns.get(label_mask_of(column))
    if own is not None and (own != NO_MASK).all():
        return own > 0
    of_output = replica.output_mask(batch, output)
    if own is None:
        return of_output
    return np.where(own == NO_MASK, True if of_output is None else of_output, own > 0)


def reduction_of(conf):
    """Returns the main output's reduction; the neutral "mean" if other layers add losses."""
    others = [
        place for place in conf.stack if place.name != conf.main.name and place.layer.adds_loss
    ]
    return "mean" if others else own_reduction(conf.main)


def own_reduction(place):
    """Returns the reduction of an output's losses; "mean" where the loss itself reduces places."""
    return "mean" if place.layer.loss.of_sequence else place.layer.reduction


def share_of_place(reduction, counted):
    """Returns factors (n,) that turn an example's loss into the mean over its places.

    Parameters
    ----------
    reduction : str
        Of the output layer: how the loss was reduced over the places.
    counted : (n, places) bools
    """
    counts = np.maximum(counted.sum(axis=1), 1)
    if reduction == "sum":
        return 1 / counts
    if reduction == "full":
        return counted.shape[1] / counts
    if reduction == "total":
        return 1 / (len(counted) * counts)
    if reduction == "valid":
        return max(counted.sum(), 1) / (len(counted) * counts)
    return np.ones(len(counted))


def units(x):
    return x.shape[1] if x.ndim != 3 else x.shape[2]


def rows(x):
    """Returns (m, units) from (n, units), (n, T, units) or (n, units, H, W)."""
    return (np.moveaxis(x, 1, -1) if x.ndim > 3 else x).reshape(-1, units(x))
