"""Common parts of recommendation networks: bags for the fields, and the output of a score."""

from collections.abc import Sequence
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.nn.layers import Affine, Dense, ElementWise, LossLayer
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.tables.embedding_bag import EmbeddingBag

LOSSES = {"classification": "sigmoid_cross_entropy", "regression": "mse"}
NUMBERS = "numbers"  # the input with the numeric columns


class ScoreBuilder(GraphBuilder):
    """Builds a network that computes a score for an example from its ids and numbers.

    Parameters
    ----------
    numbers : int
        Width of the input "numbers"; 0: no such input.
    task : str
        "classification" of yes (1) or no (0), predicting a probability, or "regression".
    """

    def __init__(self, numbers: int, task: str) -> None:
        super().__init__(**({NUMBERS: (numbers,)} if numbers else {}))
        if task not in LOSSES:
            raise ConfigError(f"task must be one of {[*LOSSES]}, got {task!r}")
        self.loss = LOSSES[task]
        self.bags: list[EmbeddingBag] = []

    def vectors(self, fields: Sequence[str], dimension: int, **options: Any) -> list[str]:
        """Adds a table of vectors per field; returns the names of the inputs."""
        new = [EmbeddingBag(name=name, dimension=dimension, **options) for name in fields]
        self.bags += new
        return [bag.name for bag in new]

    def weights(self, fields: Sequence[str], **options: Any) -> list[str]:
        """Adds a table of one weight per id for each field, initially 0; returns the names."""
        new = [
            EmbeddingBag(name=f"{name}/weight", column=name, dimension=1, scale=0.0, **options)
            for name in fields
        ]
        self.bags += new
        return [bag.name for bag in new]

    def linear(self, fields: Sequence[str], **options: Any) -> list[str]:
        """Adds the terms of a linear model of ids and numbers; returns their names."""
        parts = self.weights(fields, **options)
        if self.inputs:
            parts.append(self.add(Dense(units=1), NUMBERS, name="weights of numbers"))
        return parts

    def hidden(self, units: Sequence[int], first: str, name: str) -> str:
        """Adds a chain of ReLU layers; returns the name of the last one."""
        for i, n in enumerate(units):
            first = self.add(Dense(units=n, activation="relu"), first, name=f"{name}_{i + 1}")
        return first

    def score(self, parts: list[str], options: dict[str, Any]) -> GraphConf:
        """Returns the network whose output is the sum of the parts (batch, 1) and a bias."""
        total = self.add(ElementWise(), *parts, name="sum") if len(parts) > 1 else parts[0]
        biased = self.add(Affine(scale=False), total, name="bias")
        self.add(LossLayer(loss=self.loss), biased, name="score")
        return self.conf(bags=self.bags, **options)
