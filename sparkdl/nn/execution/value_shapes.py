"""The shapes of each layer's output, for a batch with given columns."""

from sparkdl.nn.execution.batch_tensors import forward_batch, identity_of, tensor, type_of
from sparkdl.nn.execution.forward import Z


def trace_values(conf, shapes):
    """Traces a batch through a network in training, as Tensors that are not computed.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    shapes : ((column, shape), ...)
        As returned by `shapes_of`.

    Returns
    -------
    {name of an input or a layer: Tensor}, {the same name: Tensor of its mask, or None}
    """
    weights = {name: tensor(name, shape) for name, shape in conf.params_layout.entries}
    states = {name: tensor(name, shape) for name, shape in conf.buffers_layout.entries}
    batch = {name: tensor(name, shape, type_of(conf, name)) for name, shape in shapes}
    names = {place.name: place.name + Z * place.is_output for place in conf.stack}
    options = identity_of(shapes[0][1][0]) | {"training": True, "outputs": tuple(names.values())}
    result = forward_batch(conf, weights, states, batch, **options)
    values = {name: batch[column] for column, name in conf.feature_columns.items()}
    values |= {name: result.activations[asked] for name, asked in names.items()}
    return values, result.masks
