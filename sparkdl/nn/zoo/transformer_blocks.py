"""The blocks of transformers: self attention and two dense layers, with shortcuts."""

from dataclasses import dataclass
from typing import Any

from sparkdl.nn.layers import Dense, Dropout, ElementWise, Layer, LayerNorm, SelfAttention
from sparkdl.nn.networks.graph_builder import GraphBuilder


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Options of blocks of self attention and two dense layers, each with a shortcut.

    Parameters
    ----------
    width, heads, hidden : int
        Numbers per step, attention heads, numbers between the dense layers (default 4 width).
    dropout, attention_dropout, mixed_dropout : float
        Dropout rates of the output of each branch, of the attention weights, and of the output of
        attention branches (by default all the same).
    activation : activation function of the first dense layer
    causal : bool
        Whether a step attends only to itself and earlier steps.
    norm_first : bool
        Whether a branch is normalized first, x + layers(norm(x)), or after the shortcut,
        norm(x + layers(x)).
    epsilon : float
        The epsilon of the normalizations.
    """

    width: int
    heads: int
    hidden: int | None = None
    dropout: float = 0.0
    attention_dropout: float | None = None
    mixed_dropout: float | None = None
    activation: Any = "gelu"
    causal: bool = False
    norm_first: bool = True
    epsilon: float = 1e-5

    def add_to(self, build: GraphBuilder, depth: int) -> None:
        """Adds `depth` blocks after the last vertex: "block1/attention/1" and so on."""
        drop = self.dropout if self.attention_dropout is None else self.attention_dropout
        mixed = self.dropout if self.mixed_dropout is None else self.mixed_dropout
        for number in range(1, depth + 1):
            attention = SelfAttention(heads=self.heads, causal=self.causal, dropout=drop)
            self.add_branch(build, f"block{number}/attention", mixed, attention)
            up = Dense(units=self.hidden or 4 * self.width, activation=self.activation)
            down = Dense(units=self.width)
            self.add_branch(build, f"block{number}/dense", self.dropout, up, down)

    def add_branch(self, build: GraphBuilder, name: str, dropout: float, *layers: Layer) -> None:
        source = build.last
        if self.norm_first:
            build.add(self.norm(), name=f"{name}/norm")
        for number, layer in enumerate(layers, 1):
            build.add(layer, name=f"{name}/{number}")
        if dropout:
            build.add(Dropout(rate=dropout), name=f"{name}/dropout")
        build.add(ElementWise(operation="add"), source, build.last, name=f"{name}/add")
        if not self.norm_first:
            build.add(self.norm(), name=f"{name}/norm")

    def norm(self) -> LayerNorm:
        return LayerNorm(epsilon=self.epsilon)
