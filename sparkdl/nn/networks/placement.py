"""A layer at its position in a network."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.hints import Shape, Shapes, Values
from sparkdl.nn.layers import Layer, ScoredLayer


class PlacedLayer(NamedTuple):
    """A layer at its position: with the network's defaults applied, its inputs and its shapes.

    `sources` are the names of the inputs and layers that it reads. `owner` is the layer whose
    parameters it uses, by default itself.
    """

    index: int  # type: ignore[assignment]
    layer: Any  # a Layer; for outputs a ScoredLayer
    sources: tuple[str, ...]
    in_shape: tuple
    out_shape: tuple[int, ...]
    owner: str

    @property
    def name(self) -> str:
        return self.layer.name

    @property
    def is_output(self) -> bool:
        return isinstance(self.layer, ScoredLayer)

    @property
    def units(self) -> int:
        """The classes, or numbers per label, of an output."""
        return self.out_shape[0] if len(self.out_shape) > 2 else self.out_shape[-1]

    @property
    def label_shape(self) -> Shape:
        """The shape of one example's label, for outputs."""
        return self.layer.label_shape(self.out_shape)

    @property
    def param_shapes(self) -> Shapes:
        """{name: shape} of the parameters that it owns."""
        return self.layer.param_shapes(self.in_shape) if self.owner == self.name else {}

    @property
    def buffer_shapes(self) -> Shapes:
        """{name: shape} of the buffers that it owns."""
        return self.layer.buffer_shapes(self.in_shape) if self.owner == self.name else {}

    @property
    def state_shapes(self) -> Shapes:
        """{name: shape for one example} of the states that it carries to the next batch."""
        return self.layer.state_shapes(self.in_shape)

    def own_arrays(self, arrays: Values, kind: str) -> Values:
        """Returns {name: array} of this layer's arrays, from {"layer/name": array}."""
        names = getattr(self.layer, kind)(self.in_shape)
        return {name: arrays[f"{self.owner}/{name}"] for name in names}


def shape_after(layer: Layer, shape: Any, before: str | None) -> Shape:
    """Returns the output shape of `layer`, or raises an error that names it and its predecessor."""
    try:
        out_shape = layer.out_shape(shape)
        if isinstance(layer, ScoredLayer):
            layer.check(out_shape)
        return out_shape
    except ShapeError as error:
        what = f"{layer.name} cannot follow {before} {shape}: {error}"
        raise ShapeError(f"{what}{channels_cure(shape)}") from error


def channels_cure(shape: Any) -> str:
    """Returns advice for a shape that seems to have channels last, or ""."""
    if not isinstance(shape, tuple) or len(shape) != 3:
        return ""
    first, *rest, last = shape
    if last in (1, 3, 4) and min(first, *rest) > 4:
        return f"; channels come first: {(last, first, *rest)}"
    return ""


def check_unique(names: Iterable[Any], what: str) -> None:
    """Raises ConfigError if a name is repeated."""
    for one, two in pairwise(sorted(names)):
        if one == two:
            raise ConfigError(f"{what} must be unique, got {one!r} twice")
