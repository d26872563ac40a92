"""Base of the layers that wrap another layer."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sparkdl.config import Of, dataclass, option
from sparkdl.nn.hints import Shape
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.weights import WeightedLayer

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf


TRAINED = {item.name for item in fields(WeightedLayer)} - {"name"}


class OfLayerInside:
    """A class attribute that a wrapper takes from the layer inside."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, wrapper: Any, owner: type | None = None) -> Any:
        return self if wrapper is None else getattr(wrapper.layer, self.name)


@dataclass(frozen=True, kw_only=True)
class Wrapper(Layer, abstract=True):
    """A layer that wraps another one, whose training options apply."""

    adds_loss: ClassVar[Any] = OfLayerInside()
    has_joint_loss: ClassVar[Any] = OfLayerInside()
    sums_batch: ClassVar[Any] = OfLayerInside()
    reads_ids_of_steps: ClassVar[Any] = OfLayerInside()
    reads_backward: ClassVar[Any] = OfLayerInside()
    penalized: ClassVar[Any] = OfLayerInside()
    penalized_by_layer: ClassVar[Any] = OfLayerInside()
    keeps_numbers: ClassVar[Any] = OfLayerInside()

    layer: Layer = option(Of(family=Layer), "The layer inside.")

    def __getattr__(self, name: str) -> Any:
        """Returns training options, such as l2 or rate_factor, of the layer inside."""
        if name in TRAINED:
            return getattr(self.layer, name)
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def inherit(self, network: "Conf") -> Self:
        return replace(self, layer=self.layer.inherit(network))

    def mixes_steps(self, in_shape: Any) -> bool:
        return self.layer.mixes_steps(in_shape)

    def lists_steps(self, in_shape: Any) -> bool:
        return self.layer.lists_steps(in_shape)

    @property
    def biases(self) -> tuple[str, ...]:
        return getattr(self.layer, "biases", ())

    def incoming(self, name: str, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        return self.layer.incoming(name, shape)

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return self.layer.initial(name, shape, rng)
