"""Steps: the layers that replace a node of an ONNX graph."""

from dataclasses import dataclass, field

from sparkdl.nn import layers as nn

BEFORE = -1  # in Step.sources: the output of the previous step


@dataclass(frozen=True, kw_only=True)
class Step:
    """One of the layers that a node becomes.

    Parameters
    ----------
    layer : Layer
    weights : {name of a parameter or buffer: array}
    sources : tuple of int, optional
        What the layer reads: indices of the node's inputs, or BEFORE. None: the output of the
        previous step, or the first input if there is none.
    batch : int or ROWS
        Position of the batch in the tensor that the layer computes; see LaidShape.
    output : int, optional
        Index of the node's output. None: the last step is the only output.
    """

    layer: nn.Layer
    weights: dict = field(default_factory=dict)
    sources: tuple[int, ...] | None = None
    batch: int | str = 0
    output: int | None = None
