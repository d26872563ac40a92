"""A whole network in JAX: forward pass, loss and gradient."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracle.jax_translation import scoring
from tests.oracle.jax_translation.seen import Seen, translate

COMPILED = 4  # networks whose compiled functions are cached


def loss_and_outputs(conf, params, buffers, columns, training):
    """Computes a network's results for a batch.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    params, buffers : {"layer/name": array}
        Named as in conf.params_layout and conf.buffers_layout.
    columns : {column: array}
        The batch's columns: features or inputs, labels, masks, weights.
    training : bool

    Returns
    -------
    loss, {output layer: prediction}, {buffer: next value}
        The loss is the mean over examples without l1 and l2, as in a replica, which reports the sum
        instead. Unchanged buffers are included.
    """
    found = evaluated(conf, training, params, buffers, columns)
    return float(found["loss"]), found["predictions"], dict(buffers) | found["buffers"]


def layer_outputs(conf, params, buffers, columns, training):
    """Returns {layer: output}, z for output layers, to find the first layer that differs."""
    return evaluated(conf, training, params, buffers, columns)["values"]


def gradients(conf, params, buffers, columns):
    """Returns {"layer/name": gradient of the mean loss} in training."""
    return computed(conf, True, params, buffers, columns)[1]


def evaluated(conf, training, params, buffers, columns):
    """Returns the result of `passed`; in training by the gradient's program, to compile once."""
    found = computed(conf, training, params, buffers, columns)
    return found[0][1] if training else found


def computed(conf, training, params, buffers, columns):
    with jax.enable_x64(True):
        return as_numpy(compiled(conf, training)(*as_jax(params, buffers, columns)))


@lru_cache(COMPILED)
def compiled(conf, training):
    """Returns the network as a compiled function of params, buffers and columns.

    It returns the result of `passed`; in training ((loss, that result), gradients of the
    parameters). Compiling the whole takes a third to a fifth of JAX's time operation by operation.
    """

    def value(params, buffers, columns):
        return passed(conf, params, buffers, columns, training)

    def loss(params, buffers, columns):
        found = value(params, buffers, columns)
        return found["loss"], found

    function = jax.value_and_grad(loss, has_aux=True) if training else value
    return jax.jit(function)


def as_jax(*parts):
    """Converts dicts of arrays: floats to float64, integers to int64."""
    return tuple({name: as_float(value) for name, value in part.items()} for part in parts)


def as_float(value):
    value = np.asarray(value)
    return jnp.asarray(value, np.float64 if value.dtype.kind == "f" else np.int64)


def as_numpy(tree):
    return jax.tree.map(np.asarray, tree)


def passed(conf, params, buffers, columns, training):
    """Computes all results of a batch, as a function that JAX can differentiate."""
    inputs = {name: column for column, name in conf.feature_columns.items()}
    values = {name: columns[inputs[name]].astype(float) for name in inputs}
    masks = {name: mask_in(columns, mask_column(inputs[name])) for name in inputs}
    buffers, changed, losses = dict(buffers), {}, []
    for place in conf.stack:
        seen = seen_by(conf, place, values, masks, params, buffers, columns, training)
        values[place.name], masks[place.name] = translate(place.layer, seen)
        new = {f"{place.owner}/{name}": value for name, value in seen.new_buffers.items()}
        buffers |= new
        changed |= new
        losses += seen.losses
    losses += output_losses(conf, values, masks, columns)
    total = sum(losses) * columns.get("weights", 1.0)
    outputs = {p.name: scoring.predicted(p.layer, values[p.name]) for p in conf.outputs}
    given = {place.name: values[place.name] for place in conf.stack}
    return {"loss": total.mean(), "predictions": outputs, "buffers": changed, "values": given}


def seen_by(conf, place, values, masks, params, buffers, columns, training):
    labels = columns.get(conf.label_column(place)) if place in conf.outputs_with_labels else None
    return Seen(
        xs=tuple(values[source] for source in place.sources),
        params=of_layer(place.owner, params),
        buffers=of_layer(place.owner, buffers),
        masks=tuple(masks[source] for source in place.sources),
        training=training,
        labels=labels,
    )


def of_layer(owner, arrays):
    """Returns {short name: array} of a layer's own arrays."""
    parts = [(name.rpartition("/"), value) for name, value in arrays.items()]
    return {name: value for (layer, _, name), value in parts if layer == owner}


def output_losses(conf, values, masks, columns):
    """Yields the (batch,) losses of each output that has labels."""
    for place in conf.outputs_with_labels:
        column = conf.label_column(place)
        mask = mask_in(columns, f"{column}_mask", masks[place.name])
        each = scoring.example_losses(place.layer, values[place.name], columns[column], mask)
        yield place.layer.loss_weight * each


def mask_in(columns, name, other=None):
    """Returns a column's mask in float64, or `other` if the batch has none."""
    return columns[name].astype(float) if name in columns else other


def mask_column(column):
    return "mask" if column == "features" else f"{column}_mask"
