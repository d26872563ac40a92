"""Layer-wise unsupervised pretraining of a network."""

from sparkdl.errors import ConfigError
from sparkdl.nn.networks.pretraining import pretraining, unsupervised_layers


def pretrain_layers(network, layers, fit):
    """Trains layers without labels, one by one; returns {name: History}. Updates `network`.

    Parameters
    ----------
    network : Network
    layers : sequence of str or None
        None: all layers that can learn without labels, in their order.
    fit : function (Network of a layer) -> History
    """
    layers = unsupervised_layers(network.conf) if layers is None else layers
    if not layers:
        raise ConfigError("no layer of the network learns without labels")
    return {name: pretrain_one(network, name, fit) for name in layers}


def pretrain_one(network, name, fit):
    part = type(network)(pretraining(network.conf, name))
    part.state = with_arrays_of(part, network)
    history = fit(part)
    network.state = with_arrays_of(network, part, f"{name}/")
    return history


def with_arrays_of(network, other, start=""):
    """Returns the state of `network` with `other`'s values of the arrays that both have.

    Only arrays whose names have this `start` are copied: averaging rounds, so those of fixed layers
    may have changed slightly.
    """
    vectors = {}
    for kind in ("params", "buffers"):
        vector = getattr(network.state, kind).copy()
        arrays = getattr(network.conf, f"{kind}_layout").views(vector)
        other_arrays = getattr(other.conf, f"{kind}_layout").views(getattr(other.state, kind))
        for name in arrays.keys() & other_arrays.keys():
            if name.startswith(start):
                arrays[name][...] = other_arrays[name]
        vectors[kind] = vector
    return network.state.with_weights(**vectors)
