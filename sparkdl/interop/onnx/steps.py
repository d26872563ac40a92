"""A layer that stands for a node of an ONNX graph, or for a part of it."""

from dataclasses import dataclass, field

from sparkdl.nn import layers as nn

BEFORE = -1  # in Step.sources: what the step before gives


@dataclass(frozen=True, kw_only=True)
class Step:
    """One of the layers that a node becomes.

    Parameters
    ----------
    layer : Layer
    weights : {name of a parameter or buffer: array}
    sources : tuple of int, optional
        What the layer reads: numbers of the node's inputs, or BEFORE. None: the first input, or
        what the step before gives, where there is one.
    batch : int or ROWS
        Where the batch lies in the tensor that the layer's output stands for; see LaidShape.
    output : int, optional
        Which of the node's outputs it is. None: the last step is the one output.
    """

    layer: nn.Layer
    weights: dict = field(default_factory=dict)
    sources: tuple[int, ...] | None = None
    batch: int | str = 0
    output: int | None = None
