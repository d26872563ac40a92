"""The loss of each example of a batch: those of all outputs plus the terms that layers add."""

from functools import partial

from sparkdl.engine import ops
from sparkdl.nn.inputs.columns import NO_MASK
from sparkdl.nn.networks.base import nothing_to_train


def has_joint_loss(network):
    """Returns whether the loss of an example depends on the other examples in its batch."""
    return any(place.layer.has_joint_loss for place in network.stack)


def example_losses(network, result, labels, masks=None, weights=None, output=None, own=None):
    """Returns (batch,) losses.

    Parameters
    ----------
    network : NetworkConf or GraphConf
    result : Forward
    labels : {column of network.label_columns: array or Tensor (batch, ...)}
    masks : {the same column: (batch, T)}, optional
        Which steps count; by default those of the output's mask, also for records whose row is
        NO_MASK.
    weights : (batch,), optional
        Factors of the examples' losses.
    output : str, optional
        The output whose loss to return alone, without its loss weight and terms that layers add.
    own : {column of network.label_columns: (batch,) or None}, optional
        Factors of the losses of the outputs that read this column, besides `weights`.

    Raises
    ------
    ConfigError
        If the network has no loss.
    """
    loss = partial(loss_of_output, network, result, labels, masks or {}, own or {})
    if output is not None:
        total = loss(network.output_named(output))
        return total if weights is None else ops.mul(total, weights)
    parts = list(result.losses)
    for place in network.outputs_with_labels:
        losses, factor = loss(place), place.layer.loss_weight
        parts.append(losses if factor == 1 else ops.mul(losses, factor))
    if not parts:
        raise nothing_to_train(network)
    total = parts[0]
    for part in parts[1:]:
        total = ops.add(total, part)
    return total if weights is None else ops.mul(total, weights)


def loss_of_output(network, result, labels, masks, own, place):
    """Returns the losses (batch,) of one placed output, without its loss weight."""
    column = network.label_column(place)
    mask = mask_of_labels(masks.get(column), result.masks[place.name])
    losses = place.layer.per_example(result.scores[place.name], labels[column], mask)
    return losses if own.get(column) is None else ops.mul(losses, own[column])


def mask_of_labels(own, of_output):
    """Returns which steps count, (batch, T) or None, given the labels' and the output's mask."""
    if own is None:
        return of_output
    return ops.where(ops.greater(own, NO_MASK), own, 1.0 if of_output is None else of_output)
