"""Order of a layer's blobs in Caffe, and of their numbers in memory."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparkdl.errors import CheckpointError, UnsupportedError
from sparkdl.nn.layers import (
    LSTM,
    Affine,
    BatchNorm,
    DenseTranspose,
    Frozen,
    Learned,
    PRelu,
    SimpleRnn,
    TimeDistributed,
)
from sparkdl.nn.layers.convolution.conv import Conv
from sparkdl.nn.layers.convolution.conv_transpose import ConvTranspose
from sparkdl.nn.layers.dense.embedding import Lookup
from sparkdl.nn.layers.dense.fully_connected import FullyConnected


class BlobOrder(NamedTuple):
    """Conversion between a sparkdl array and a blob, by views if possible."""

    blob: Callable
    array: Callable


def keep_order(array):
    return array


def transpose_matrix(array):
    """Transposes (in, out) to (out, in), and back."""
    return array.T


def reorder_gates(array):
    """Reorders parts of the last axis from i, f, g, o to i, f, o, g, and back."""
    i, f, third, fourth = np.split(array, 4, axis=-1)
    return np.concatenate([i, f, fourth, third], axis=-1)


SAME, TURNED = BlobOrder(keep_order, keep_order), BlobOrder(transpose_matrix, transpose_matrix)
ONE = BlobOrder(lambda array: array.reshape(()), lambda blob: blob.reshape(1))
GATES = BlobOrder(lambda array: reorder_gates(array).T, lambda blob: reorder_gates(blob.T))
# Arrays of a layer in the order of Caffe's blobs; missing ones are skipped.
ORDERS = {
    DenseTranspose: {"W": SAME, "b": SAME},  # InnerProduct that shares with the opposite one
    FullyConnected: {"W": TURNED, "b": SAME},  # InnerProduct: (out, in)
    Conv: {"W": SAME, "b": SAME},  # Convolution: (out, in / group, rows, columns)
    ConvTranspose: {"W": SAME, "b": SAME},  # Deconvolution: (in, out / group, rows, columns)
    Lookup: {"W": SAME, "b": SAME},  # Embed: (in, out)
    Affine: {"gamma": SAME, "beta": SAME},  # Scale, Bias
    PRelu: {"alpha": SAME},
    Learned: {"W": SAME},  # Parameter
    BatchNorm: {"mean": SAME, "variance": SAME, "weight": SAME},
    SimpleRnn: {"W": TURNED, "b": SAME, "RW": TURNED},  # RNN; its outputs are an InnerProduct
    LSTM: {"W": GATES, "b": GATES, "RW": GATES},  # (4 out, in), (4 out), (4 out, out)
}
MOMENTS = ("mean", "variance")  # blobs of a BatchNorm that needs no factor to divide them by


def blobs_of(layer, arrays, shapes=None):
    """Returns Caffe's blobs of a layer.

    Parameters
    ----------
    layer : Layer
    arrays : {name: array}
        Parameters and buffers.
    shapes : LayerParameter, optional
        The layer in Caffe's net.

    Raises
    ------
    UnsupportedError
        If Caffe has no layer with such arrays.
    """
    if is_divided(layer, arrays):
        return [*(arrays[name] for name in MOMENTS), np.ones(1, arrays["mean"].dtype)]
    orders = orders_of(layer, arrays, shapes)
    return [orders[name].blob(arrays[name]) for name in orders]


def arrays_of(layer, blobs, arrays, shapes=None):
    """Converts Caffe's blobs to {name: array} for a layer with `arrays`.

    Raises
    ------
    CheckpointError
        If the number or the shapes of blobs differ; leading axes of 1 are ignored.
    """
    wanted = [blob.shape for blob in blobs_of(layer, arrays, shapes)]
    if [strip_unit_axes(blob.shape) for blob in blobs] != list(map(strip_unit_axes, wanted)):
        raise CheckpointError(f"blobs must be of {wanted}, got {[blob.shape for blob in blobs]}")
    blobs = [blob.reshape(shape) for blob, shape in zip(blobs, wanted, strict=True)]
    if is_divided(layer, arrays):
        factor = blobs[2][0]
        share = 1 / factor if factor else factor  # as in Caffe, 0 for a net that has seen no data
        return {name: blob * share for name, blob in zip(MOMENTS, blobs)}
    orders = orders_of(layer, arrays, shapes)
    return {name: orders[name].array(blob) for name, blob in zip(orders, blobs, strict=True)}


def strip_unit_axes(shape):
    """Returns a shape without leading axes of 1, as old blobs always had four axes."""
    start = next((i for i, size in enumerate(shape) if size != 1), len(shape))
    return tuple(shape[start:])


def orders_of(layer, arrays, shapes):
    """Returns {array: BlobOrder} of a layer, in the order of Caffe's blobs."""
    if shapes is not None and shapes.type == "Python":
        return dict.fromkeys(arrays, SAME)
    layer = inner_layer(layer)
    orders = next((ORDERS[kind] for kind in type(layer).__mro__ if kind in ORDERS), {})
    if not orders.keys() >= arrays.keys():
        kind, names = type(layer).__name__, ", ".join(arrays)
        raise UnsupportedError(f"Caffe has no blobs for a {kind} with {names}")
    if shapes is not None and shapes.inner_product_param.transpose:
        orders = orders | {"W": TURNED if isinstance(layer, DenseTranspose) else SAME}
    if isinstance(layer, PRelu) and layer.shared:
        orders = {"alpha": ONE}
    return {name: order for name, order in orders.items() if name in arrays}


def is_divided(layer, arrays):
    """Returns whether a layer is a BatchNorm whose mean and variance need no third blob."""
    return isinstance(inner_layer(layer), BatchNorm) and set(arrays) == set(MOMENTS)


def inner_layer(layer):
    """Returns the innermost layer, which has the arrays."""
    while isinstance(layer, (Frozen, TimeDistributed)):
        layer = layer.layer
    return layer
