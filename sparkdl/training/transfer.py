"""Transfer of a trained network's weights to another one: new output, new optimizer, or by name."""

from dataclasses import replace
from typing import Any

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import GraphConf, NetworkConf
from sparkdl.nn.layers import Layer
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.new_output import conf_with_output
from sparkdl.nn.tables.embedding_bag import begin_tables
from sparkdl.training.foreign_models import cure_for_model
from sparkdl.training.network import Network
from sparkdl.training.saving.state import TrainState
from sparkdl.training.saving.stored_tables import read_tables


def replace_output(
    network: Network, layer: Layer, after: str | None = None, **options: Any
) -> Network:
    """Returns a network with a new output layer and the weights of this one.

    Use it to train a model that was read without a loss, or to fine-tune a trained one for another
    task. All layers and table rows keep their weights and are trained; optimizer state and counters
    are reset.

    Parameters
    ----------
    network : Network
        Network to copy; it is not changed.
    layer : Layer
        The new output: an Output, with new initial weights; or a LossLayer, which passes on the
        output of `after`. If its loss applies softmax or sigmoid itself and `after` ends in one,
        the loss replaces that one, so predictions stay the same.
    after : str, optional
        Name of the layer that it reads; layers that this one does not need are dropped. None: the
        layer that the only output layer reads or, for a LossLayer on a network without one, the
        last layer.
    options : of GraphConf
        optimizer, seed ...; they override those of the network.

    Raises
    ------
    ConfigError
        `layer` is no output layer, or `after` no name of a layer.
    ShapeError
        The layer cannot read what `after` gives.
    UnsupportedError
        Other layers read the softmax that a LossLayer would replace, or it runs over another axis.

    Examples
    --------
    >>> from sparkdl import Dense, Network, NetworkConf, Output, replace_output
    >>> layers = [Dense(units=8, activation="relu"), Output(units=10)]
    >>> digits = Network(NetworkConf(input_shape=(64,), layers=layers))
    >>> odd = replace_output(digits, Output(units=2), seed=1)
    >>> [place.name for place in odd.conf.stack], odd.conf.output_size
    (['dense_1', 'output_1'], 2)
    """
    check_network(network, "replace_output")
    if not isinstance(network.conf, NetworkConf | GraphConf):
        kind = type(network.conf).__name__
        raise ConfigError(
            f"replace_output.network must be of a NetworkConf or GraphConf, got {kind}; change the "
            "model itself, or read it as a network of layers"
        )
    conf = conf_with_output(network.conf, layer, after, **options)
    new = Network(conf, device=network.device)
    but = conf.outputs[-1].name
    new.state = carry_weights(network.conf, network.state, conf, new.state, but)
    new.transform = network.transform
    return new


def replace_optimizer(network: Network, optimizer: Any) -> Network:
    """Returns a network with the weights of this one and another optimizer, to train on.

    Layers stay the same, and a layer's own optimizer is kept. Optimizer state is reset, and so are
    the counters on which schedules depend.

    Parameters
    ----------
    network : Network
        Network to copy; it is not changed.
    optimizer : Optimizer, str or dict
        As a conf takes it: "adam", Momentum(learning_rate=0.01).

    Examples
    --------
    >>> from sparkdl import Momentum, Network, NetworkConf, Output, replace_optimizer
    >>> network = Network(NetworkConf(input_shape=(4,), layers=[Output(units=2)], optimizer="adam"))
    >>> tuned = replace_optimizer(network, Momentum(learning_rate=0.001))
    >>> tuned.conf.optimizer.type_name, bool((tuned.state.params == network.state.params).all())
    ('Momentum', True)
    """
    check_network(network, "replace_optimizer")
    conf = replace(network.conf, optimizer=optimizer)
    new = Network(conf, device=network.device)
    new.state = carry_weights(network.conf, network.state, conf, new.state)
    new.transform = network.transform
    return new


def check_network(network: Any, owner: str) -> None:
    """Raises ConfigError unless given a Network."""
    if not isinstance(network, Network):
        cure = "; give Network(conf)" if isinstance(network, Conf) else cure_for_model(network)
        kind = type(network).__name__
        raise ConfigError(f"{owner}.network must be a Network, got {kind}{cure}")


def carry_weights(
    conf: Conf, state: TrainState, other: Conf, start: TrainState, but: str | None = None
) -> TrainState:
    """Copies weights of `state` to layers, and rows to tables, of the same name in `other`.

    Parameters
    ----------
    conf, state : GraphConf or NetworkConf, TrainState
        The source.
    other, start : the same
        The target; layers missing in `conf` stay as in `start`. A layer that shared its parameters
        gets those it shared. Optimizer state of rows and counts of their updates are reset.
    but : str, optional
        Name of a layer that always stays as in `start`.

    Raises
    ------
    ShapeError
        If an array of the same name has another shape.
    ConfigError
        If rows of a table of the same name have another dimension.
    """
    tables = begin_tables(conf, read_tables(state.tables), other) if other.bags else {}
    owners = {place.name: place.owner for place in conf.stack}
    vectors = {}
    for kind in ("params", "buffers"):
        layout, other_layout = getattr(conf, f"{kind}_layout"), getattr(other, f"{kind}_layout")
        vectors[kind] = getattr(start, kind).copy()
        old, new = layout.views(getattr(state, kind)), other_layout.views(vectors[kind])
        for name, values in new.items():
            layer, _, kind_of_array = name.rpartition("/")
            given = old.get(f"{owners.get(layer, layer)}/{kind_of_array}")
            if given is None or layer == but:
                continue
            if given.shape != values.shape:
                shapes = f"{given.shape} in one net and {values.shape} in the other"
                raise ShapeError(f"{name} must have one shape, got {shapes}")
            values[...] = given
    return replace(start, **vectors, tables=tables or start.tables)
