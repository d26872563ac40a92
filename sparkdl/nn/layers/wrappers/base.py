"""Layers around another layer."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sparkdl.config import Of, dataclass, option
from sparkdl.nn.hints import Shape
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.weights import WeightedLayer

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf


TRAINED = {item.name for item in fields(WeightedLayer)} - {"name"}


@dataclass(frozen=True, kw_only=True)
class Wrapper(Layer, abstract=True):
    """A layer that does something with another one, whose choices about training hold."""

    layer: Layer = option(Of(family=Layer), "The layer inside.")

    def __getattr__(self, name: str) -> Any:
        """Returns options of training, such as l2 or rate_factor, of the layer inside."""
        if name in TRAINED:
            return getattr(self.layer, name)
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def inherit(self, network: "Conf") -> Self:
        return replace(self, layer=self.layer.inherit(network))

    @property
    def adds_loss(self) -> bool:  # type: ignore[override]
        return self.layer.adds_loss

    @property
    def reads_ids_of_steps(self) -> bool:  # type: ignore[override]
        return self.layer.reads_ids_of_steps

    @property
    def reads_backward(self) -> bool:  # type: ignore[override]
        return self.layer.reads_backward

    @property
    def sees_other_steps(self) -> bool:  # type: ignore[override]
        return self.layer.sees_other_steps

    @property
    def penalized(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.layer.penalized

    @property
    def penalized_by_layer(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.layer.penalized_by_layer

    @property
    def biases(self) -> tuple[str, ...]:
        return getattr(self.layer, "biases", ())

    def incoming(self, name: str, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        return self.layer.incoming(name, shape)

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return self.layer.initial(name, shape, rng)
