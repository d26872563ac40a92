"""The split of a network's layers among workers that share each minibatch (tensor parallelism)."""

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl.nn.layers.arithmetic.activation import Activation
from sparkdl.nn.layers.attention.base import Attention
from sparkdl.nn.layers.attention.multi_head_attention import MultiHeadAttention
from sparkdl.nn.layers.attention.self_attention import LearnedSelfAttention, SelfAttention
from sparkdl.nn.layers.dense.dense import Dense
from sparkdl.nn.layers.outputs.output import Output, RnnOutput
from sparkdl.nn.layers.regularization.dropout import Dropout
from sparkdl.nn.losses.classes import SoftmaxCrossEntropy

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.nn.networks.placement import PlacedLayer

PRODUCTS = (Dense, Output, RnnOutput)  # these types exactly: subclasses may behave differently
ATTENTIONS = (SelfAttention, MultiHeadAttention, LearnedSelfAttention)


class Split(Enum):
    """How a layer is split among workers.

    COLUMNS: each worker computes some units and keeps them for a following ROWS. GATHERED: columns,
    then every worker gets all units. CLASSES: columns, then softmax and cross entropy of the parts.
    INSIDE: elementwise, on a worker's own units. ROWS: each worker has some inputs, and products
    are summed. HEADS: each worker has some attention heads, and products are summed.
    """

    COLUMNS = "columns"
    GATHERED = "columns, gathered"
    CLASSES = "columns, softmax over them"
    INSIDE = "inside"
    ROWS = "rows"
    HEADS = "heads"


@lru_cache(maxsize=8)
def layer_splits(conf: "Conf", parts: int) -> dict[str, Split]:
    """Returns {layer: Split}; each worker computes all other layers as a whole.

    If only elementwise layers separate two products, the first is split by columns and the second
    by rows: one sum then replaces a gather and a sum.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    parts : int
        Number of workers. Layers whose units or heads it does not divide stay whole.
    """
    found: dict[str, Split] = {}
    if parts == 1:
        return found
    for place in conf.stack:
        if place.name in found or is_shared(conf, place):
            continue
        if type(place.layer) in ATTENTIONS and has_heads(place.layer, parts):
            found[place.name] = Split.HEADS
        elif type(place.layer) in PRODUCTS and has_columns(place.layer, parts):
            found |= split_columns(conf, place)
    return found


def split_columns(conf: "Conf", place: "PlacedLayer") -> dict[str, Split]:
    """Returns {layer: Split} of a product by columns and its successors up to one by rows."""
    readers = readers_of(conf, place)
    if place.is_output:
        inside = not readers and is_plain_softmax(place.layer.loss)
        return {place.name: Split.CLASSES if inside else Split.GATHERED}
    found = {place.name: Split.COLUMNS}
    while len(readers) == 1:
        [reader] = readers
        if is_shared(conf, reader):
            break
        if type(reader.layer) in PRODUCTS and reader.layer.weight_noise is None:
            return found | {reader.name: Split.ROWS}
        if not is_inside(reader.layer):
            break
        found[reader.name] = Split.INSIDE
        readers = readers_of(conf, reader)
    return {place.name: Split.GATHERED}


def readers_of(conf: "Conf", place: "PlacedLayer") -> "list[PlacedLayer]":
    return [other for other in conf.stack if place.name in other.sources]


def is_shared(conf: "Conf", place: "PlacedLayer") -> bool:
    """Returns whether other layers share the parameters of this one."""
    return any((place.owner == p.owner) != (place.name == p.name) for p in conf.stack)


def has_columns(layer: Any, parts: int) -> bool:
    activation = getattr(layer, "activation", None)
    single = activation is None or is_elementwise(activation)
    return layer.units % parts == 0 and layer.weight_noise is None and single


def has_heads(layer: Attention, parts: int) -> bool:
    projects = getattr(layer, "project", True)
    return projects and layer.heads % parts == 0 and layer.weight_noise is None


def is_inside(layer: Any) -> bool:
    """Returns whether a layer is elementwise and has no parameters."""
    if type(layer) is Activation:
        return is_elementwise(layer.function)
    return type(layer) is Dropout


@lru_cache(maxsize=64)
def is_elementwise(function: Any) -> bool:
    """Returns whether an activation function maps each unit independently of the others."""
    x = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 12)
    return np.allclose(function.apply(x)[:, 3:6], function.apply(x[:, 3:6]), rtol=1e-5)


def is_plain_softmax(loss: Any) -> bool:
    if type(loss) is not SoftmaxCrossEntropy:
        return False
    return loss == SoftmaxCrossEntropy(ignore_label=loss.ignore_label)
