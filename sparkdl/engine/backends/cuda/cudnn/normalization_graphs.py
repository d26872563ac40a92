"""Normalization as graphs of cuDNN's, fused with adjacent operations: a sum, a ReLU.

Instead of the variance they keep the inverse deviation, 1 / sqrt(variance + epsilon). Statistics,
gamma, beta and their gradients are float32.
"""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine.backends.cuda.cudnn.graph_builder import Request
from sparkdl.engine.graph import Spec


@dataclass(frozen=True, kw_only=True)
class NormalizationRequest(Request):
    """y from x, with statistics of the batch, or of each row if there is no `last_mean`."""

    label: ClassVar = "normalization"
    read: ClassVar = ("x", "gamma", "beta", "other")
    slow: ClassVar = True
    x: Spec
    gamma: Spec
    beta: Spec
    other: Spec | None = None
    y: Spec
    mean: Spec
    inverse: Spec
    last_mean: Spec | None = None
    last_variance: Spec | None = None
    epsilon: float
    rectified: bool = False

    @property
    def numbers(self):
        return {"epsilon": self.epsilon} | ({"momentum": 1.0} if self.last_mean else {})

    @property
    def doubles(self):
        """Returns the running statistics that cuDNN requires; their updates are not used."""
        return {"running_mean": "gamma", "running_variance": "beta"} if self.last_mean else {}

    def draw(self, drawing):
        graph = drawing.graph
        names = {"input": "x", "scale": "gamma", "bias": "beta"}
        inputs = {name: drawing.read(own) for name, own in names.items()}
        inputs["epsilon"] = drawing.number("epsilon")
        if self.last_mean is None:
            phase = drawing.library.norm_forward_phase.TRAINING
            y, *statistics = graph.layernorm(norm_forward_phase=phase, **inputs)
        else:
            inputs["in_running_mean"] = drawing.read("running_mean")
            inputs["in_running_var"] = drawing.read("running_variance")
            y, *statistics = graph.batchnorm(momentum=drawing.number("momentum"), **inputs)
        if self.other is not None:
            y = graph.add(a=y, b=drawing.read("other"))
        drawing.write("y", graph.relu(input=y) if self.rectified else y)
        names = "mean", "inverse", "last_mean", "last_variance"
        for name, tensor in zip(names, statistics, strict=False):
            drawing.write(name, tensor)


@dataclass(frozen=True, kw_only=True)
class NormalizationGradRequest(Request):
    """gx, ggamma and gbeta.

    The gradient of a ReLU is not part of the graph: engines of cuDNN 9.19 that compare and
    normalize in one kernel read out of bounds.
    """

    label: ClassVar = "gradient of a normalization"
    read: ClassVar = ("gy", "x", "gamma", "mean", "inverse")
    slow: ClassVar = True
    gy: Spec
    x: Spec
    gamma: Spec
    mean: Spec
    inverse: Spec
    gx: Spec
    ggamma: Spec
    gbeta: Spec
    by_rows: bool = False

    def draw(self, drawing):
        graph = drawing.graph
        names = {"grad": "gy", "input": "x", "scale": "gamma", "mean": "mean"}
        names["inv_variance"] = "inverse"
        inputs = {name: drawing.read(own) for name, own in names.items()}
        make = graph.layernorm_backward if self.by_rows else graph.batchnorm_backward
        for name, tensor in zip(("gx", "ggamma", "gbeta"), make(**inputs), strict=True):
            drawing.write(name, tensor)
