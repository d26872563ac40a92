"""Steps: the layers that replace a node of an ONNX graph."""

from dataclasses import dataclass, field

from sparkdl.interop.onnx.laid_shapes import FIRST, Place
from sparkdl.nn import layers as nn

BEFORE = -1  # in Step.sources: the output of the previous step, -2: of the one before it


@dataclass(frozen=True, kw_only=True)
class Step:
    """One of the layers that a node becomes.

    Parameters
    ----------
    layer : Layer
    weights : {name of a parameter or buffer: array}
    sources : tuple of int, optional
        What the layer reads: indices of the node's inputs, or of previous steps, counted from
        BEFORE. None: the output of the previous step, or the first input if there is none.
    place : Place
        Of the tensor that the layer computes.
    output : int, optional
        Index of the node's output. None: the last step is the only output.
    """

    layer: nn.Layer
    weights: dict = field(default_factory=dict)
    sources: tuple[int, ...] | None = None
    place: Place = FIRST
    output: int | None = None
