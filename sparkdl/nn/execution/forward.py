"""The forward pass of a batch through a network: computed for arrays, a graph for Tensors."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sparkdl.config import suggestion
from sparkdl.engine import ops
from sparkdl.engine.dtypes import is_float, is_narrow
from sparkdl.engine.graph import scope
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.weight_noise import add_weight_noise

Z = "/z"  # after the name of an output layer: its z, from which `output` makes the prediction


class Forward(NamedTuple):
    """The results of a forward pass over a batch.

    `scores` {output: z}, `masks` {layer: mask of its output, or None}, `activations` the requested
    layer outputs by name, `buffer_updates` {buffer: next value}, `states` {state: last value},
    `losses` the terms that layers add to the examples' losses, a list of (batch,).
    """

    scores: dict[str, Any]
    masks: dict[str, Any]
    activations: dict[str, Any]
    buffer_updates: dict[str, Any]
    states: dict[str, Any]
    losses: list

    @property
    def logits(self):
        """z of the last output, (batch, units)."""
        return list(self.scores.values())[-1]


@dataclass(kw_only=True)
class ForwardPass:
    """The state of a forward pass: the results of the layers so far."""

    values: dict
    masks: dict
    buffers: dict
    updates: dict = field(default_factory=dict)
    states: dict = field(default_factory=dict)
    losses: list = field(default_factory=list)


def forward(
    network,
    params,
    buffers,
    x,
    *,
    training=False,
    ids=None,
    epoch=0,
    outputs=(),
    masks=None,
    labels=None,
    states=None,
    backward_steps=None,
):
    """Runs a batch through all layers.

    Parameters
    ----------
    network : NetworkConf or GraphConf
    params, buffers : dict of float arrays or Tensors
        Keyed by the names of network.params_layout and network.buffers_layout ("dense_1/W").
    x : array or Tensor (batch, *shape), or a dict of one for each input
        Integers (uint8) become floats.
    training : bool
        Whether dropout drops and batch normalization uses the batch's own statistics.
    ids : uint64 (batch,), optional
        The examples' positions in the data set; layers with random numbers need them in training.
    epoch : int scalar
    outputs : sequence of str
        Names of layers whose outputs are returned; that of an output layer is the prediction, and
        "layer/z" its pre-activation z.
    masks : {input: (batch, T)}, optional
        1 where a sequence has a step, 0 where it is padded.
    labels : {output: array}, optional
        For layers that read them in training.
    states : {"layer/name": (batch, ...)}, optional
        Initial states of recurrent layers; zeros by default.
    backward_steps : int, optional
        The number of last steps of sequences through which gradients flow back.

    Returns
    -------
    Forward

    Raises
    ------
    ShapeError
        If x does not fit the network.
    ConfigError
        If `outputs` names a layer that does not exist.
    """
    inputs = x if isinstance(x, dict) else dict.fromkeys(network.input_shapes, x)
    check(network, inputs, outputs)
    shared_run = Run(
        training=training, seed=network.seed, ids=ids, epoch=epoch, backward_steps=backward_steps
    )
    batch = ForwardPass(
        values=dict(inputs),
        masks=dict.fromkeys(inputs) | (masks or {}),
        buffers=dict(buffers),
    )
    count = next(iter(inputs.values())).shape[0]
    for place in network.stack:
        run = layer_run(place, shared_run, batch, count, states or {}, labels or {})
        with scope(place.name):
            step(place, params, batch, run, network.dtype)
    requested = {name: layer_output(network, batch, name) for name in outputs}
    scores = {place.name: batch.values[place.name] for place in network.outputs}
    return Forward(scores, batch.masks, requested, batch.updates, batch.states, batch.losses)


def layer_run(place, shared_run, batch, count, states, labels):
    """Returns the Run for one layer."""
    ids = shared_run.ids
    if ids is not None:
        ids = repeat_ids(ids, batch.values[place.sources[0]].shape[0] // max(count, 1))
    return shared_run.of_layer(
        place.index,
        ids=ids,
        buffers=place.own_arrays(batch.buffers, "buffer_shapes"),
        states={n: states[f"{place.name}/{n}"] for n in place.state_shapes if states},
        masks=tuple(batch.masks[source] for source in place.sources),
        labels=labels.get(place.name),
    )


def step(place, params, batch, run, dtype):
    """Passes the batch through one layer, which computes in `dtype` if it can.

    Layers that only rearrange the network's input do not cast it: it may be indices.
    """
    layer, given = place.layer, batch.values[place.sources[0]]
    narrow = is_narrow(dtype) and not (layer.keeps_numbers and given.dtype != dtype)
    inside = None if not narrow else dtype if layer.low_precision else np.float32
    inputs = tuple(as_float(batch.values[source], inside) for source in place.sources)
    weights = add_weight_noise(layer, place.own_arrays(params, "param_shapes"), run)
    if narrow:
        weights |= {name: ops.cast(weights[name], inside) for name in layer.narrow_params}
    several = layer.multi_input
    y = layer.forward(weights, inputs if several else inputs[0], run)
    if narrow:
        y = ops.cast(y, np.float32 if place.is_output else dtype)
    batch.values[place.name] = y
    shapes = tuple(tuple(x.shape[1:]) for x in inputs)
    masks, shapes = (run.masks, shapes) if several else (run.mask, shapes[0])
    results = run.results
    batch.masks[place.name] = results.masks[0] if results.masks else layer.out_mask(masks, shapes)
    new = {f"{place.owner}/{name}": value for name, value in results.updates.items()}
    batch.updates |= new
    batch.buffers |= new
    batch.states |= {f"{place.name}/{name}": value for name, value in results.states.items()}
    batch.losses += results.losses


def layer_output(network, batch, name):
    """Returns the output of the layer `name`, for an output layer its prediction."""
    layers = {place.name: place.layer for place in network.outputs}
    value = batch.values[name if name in batch.values else name.removesuffix(Z)]
    value = layers[name].output(value) if name in layers else value
    return ops.cast(value, np.float32) if is_narrow(value.dtype) else value


def as_float(x, dtype):
    """Casts x to `dtype`; without one, casts only integers, to float32."""
    if dtype is not None:
        return ops.cast(x, dtype)
    return x if is_float(x.dtype) else ops.cast(x, np.float32)


def repeat_ids(ids, times):
    """Returns the ids of a batch that repeats each example `times` times, each time with others.

    The six highest bits, which number partitions beyond 2^18, distinguish up to 64 copies.
    """
    if times <= 1:
        return ids
    marks = [np.asarray(copy % 64 << 58, np.uint64) for copy in range(times)]
    return ops.concat([ops.add(ids, mark) for mark in marks])


def check(network, inputs, outputs):
    """Raises ShapeError unless the inputs fit the network, ConfigError for unknown `outputs`."""
    shapes = network.input_shapes
    if inputs.keys() != shapes.keys():
        raise ShapeError(f"the network needs the inputs {[*shapes]}, got {[*inputs]}")
    for name, shape in shapes.items():
        actual = tuple(inputs[name].shape[1:])
        of_other_length = len(shape) == len(actual) == 2 and actual[1] == shape[1]
        if actual != shape and not of_other_length:
            which = f" for {name!r}" if len(shapes) > 1 else ""
            need = ("batch", *shape)
            raise ShapeError(f"the network needs {need}{which}, got {tuple(inputs[name].shape)}")
    known = [place.name for place in network.stack]
    scores = [place.name + Z for place in network.outputs]
    for name in outputs:
        if name not in known and name not in scores:
            hint = suggestion(name, known, "")
            raise ConfigError(f"no layer {name!r}{hint}; the layers are {known}")
