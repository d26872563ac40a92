"""Attention of all heads as one graph of cuDNN's, which stores no attention maps."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from sparkdl.engine.backends.cuda.cudnn.graph_builder import Request
from sparkdl.engine.graph import Spec


@dataclass(frozen=True, kw_only=True)
class Heads(Request):
    """Base of both directions: arrays (N, H, T, d), in memory as (N, T, H d).

    `sums` (N, H, T, 1), float32, are the logarithms of the sums of softmax's rows.
    """

    slow: ClassVar = True
    q: Spec
    k: Spec
    v: Spec
    o: Spec
    sums: Spec | None
    scale: float
    causal: bool

    def to_graph_shape(self, name, array):
        n, heads, steps, size = self.arrays[name].shape
        if name == "sums":
            return array.reshape(n, heads, steps, size)
        return np.swapaxes(array.reshape(n, steps, heads, size), 1, 2)

    def strides(self, name):
        _, heads, steps, size = shape = self.arrays[name].shape
        if name == "sums":
            return [prod(shape[i + 1 :]) for i in range(4)]
        return [steps * heads * size, size, heads * size, 1]

    def options(self, drawing):
        names = [n for n in ("q", "k", "v", "o", "sums", "go") if n in self.read]
        words = {"o": "o", "sums": "stats", "go": "dO"}
        inputs = {words.get(name, name): drawing.read(name) for name in names}
        return inputs | {"attn_scale": self.scale, "use_causal_mask": self.causal}


@dataclass(frozen=True, kw_only=True)
class AttentionRequest(Heads):
    """o = softmax(scale q k^T) v; if `causal`, each step attends to the steps up to its own."""

    label: ClassVar = "attention"
    read: ClassVar = ("q", "k", "v")

    def draw(self, drawing):
        inference = self.sums is None
        o, sums = drawing.graph.sdpa(is_inference=inference, **self.options(drawing))
        drawing.write("o", o)
        if not inference:
            drawing.write("sums", sums)


@dataclass(frozen=True, kw_only=True)
class AttentionGradRequest(Heads):
    """gq, gk and gv from q, k, v, o, its sums and go."""

    label: ClassVar = "gradient of attention"
    read: ClassVar = ("q", "k", "v", "o", "sums", "go")
    go: Spec
    gq: Spec
    gk: Spec
    gv: Spec

    def draw(self, drawing):
        results = drawing.graph.sdpa_backward(**self.options(drawing))
        for name, tensor in zip(("gq", "gk", "gv"), results, strict=True):
            drawing.write(name, tensor)
