"""Base of all layers: options, shapes, initial values, and a forward pass in operations."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sparkdl.config import Member, Text, dataclass, option
from sparkdl.errors import ShapeError
from sparkdl.nn.constraints import incoming_axes
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.masks import mask_of_same
from sparkdl.nn.layers.core.run import Run

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf


@dataclass(frozen=True, kw_only=True)
class Layer(Member, package="sparkdl.nn.layers"):
    """Base of all layers. A layer holds only options; parameters and buffers are passed to it.

    Shapes that layers take and return are those of one example: rows (F,), sequences (T, F), images
    (C, H, W), volumes (C, D, H, W). Arrays have the batch in front: (N, F), (N, C, H, W). A
    `multi_input` layer is given a tuple wherever others are given one shape or array.
    """

    inherited: ClassVar[tuple[str, ...]] = ()  # options taken from the network if None
    penalized: ClassVar[tuple[str, ...]] = ()  # parameters with l1 and l2
    penalized_by_layer: ClassVar[tuple[str, ...]] = ()  # parameters with only the layer's l1, l2
    takes_rows: ClassVar[bool] = False  # whether networks insert Flatten before it
    multi_input: ClassVar[bool] = False  # whether it joins several inputs
    adds_loss: ClassVar[bool] = False  # whether it adds to the examples' losses
    has_joint_loss: ClassVar[bool] = False  # whether that depends on the rest of the batch
    sums_batch: ClassVar[bool] = False  # whether its loss is a sum over the batch
    reads_ids_of_steps: ClassVar[bool] = False  # whether a row (T,) has one id per step
    reads_backward: ClassVar[bool] = False  # whether it reads sequences from their end
    # Whether an output step depends on its index, or on other steps except through a state.
    sees_other_steps: ClassVar[bool] = False
    low_precision: ClassVar[bool] = False  # whether it computes in bfloat16; else in float32
    keeps_numbers: ClassVar[bool] = False  # whether inference only rearranges its input
    ends_in_activation: ClassVar[bool] = False  # whether `activation` comes last

    name: str | None = option(
        Text(),
        'Name in the network, unique there. None: "dense_1", "conv2d_1" and so on.',
        default=None,
    )

    @property
    def narrow_params(self) -> tuple[str, ...]:
        """The parameters that are narrow where the layer computes in narrow numbers."""
        return self.penalized

    def inherit(self, network: "Conf") -> Self:
        """Returns this layer with the network's choice wherever it makes none itself."""
        missing = [n for n in self.inherited if getattr(self, n) is None]
        return replace(self, **{n: getattr(network, n) for n in missing}) if missing else self

    def out_shape(self, in_shape: Any) -> Any:
        """Returns the shape of one example's output.

        Raises ShapeError if the layer cannot take `in_shape`.
        """
        raise NotImplementedError

    def param_shapes(self, in_shape: Any) -> Shapes:
        """Returns {name: shape} of what is trained."""
        return {}

    def buffer_shapes(self, in_shape: Any) -> Shapes:
        """Returns {name: shape} of what is kept but not trained."""
        return {}

    def state_shapes(self, in_shape: Any) -> Shapes:
        """Returns {name: shape for one example} of the states carried to a next batch."""
        return {}

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        """Returns the output's mask (batch, T): the input's while there are as many steps.

        It holds for (batch, T, F), and for (batch, T, ...) such as a sequence of images. A mask
        (batch, T, S), of the steps within each step, holds for (batch, T, S, F); if only T stays,
        a step exists if any step within it did.
        """
        out = () if mask is None else tuple(self.out_shape(in_shape))
        return mask_of_same(mask, in_shape, out) if len(out) == len(in_shape) > 1 else None

    def mixes_steps(self, in_shape: Any) -> bool:
        """Returns `sees_other_steps`, for an input of this shape."""
        return self.sees_other_steps

    def lists_steps(self, in_shape: Any) -> bool:
        """Returns whether its output has the numbers of each step behind those of the one before.

        They may be a row: from it a Reshape makes the steps again.
        """
        return False

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        """Returns the first value of the parameter or buffer `name`."""
        raise NotImplementedError(f"{type(self).__name__} has no {name!r}")

    def incoming(self, name: str, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        """Returns where the weights into one unit lie in the parameter `name`.

        Returns
        -------
        shape, axes
            The shape to give the parameter, and its axes that then run over the weights into one
            unit.
        """
        return shape, incoming_axes(shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        """Returns the output for a batch.

        Parameters
        ----------
        params : dict of float arrays or Tensors, with the names and shapes of `param_shapes`
        x : float array or Tensor (batch, *in_shape)
        run : Run
        """
        raise NotImplementedError

    def images(self, in_shape: Any) -> Shape:
        """Returns `in_shape`, if it is that of images."""
        if len(in_shape) != 3:
            kind = type(self).__name__
            raise ShapeError(f"{kind} takes images (channels, height, width), got {in_shape}")
        return in_shape

    def rows(self, in_shape: Any) -> Shape:
        """Returns `in_shape`, if it is that of rows of features, or of a sequence of them."""
        if len(in_shape) > 2 or not in_shape:
            kind = type(self).__name__
            raise ShapeError(
                f"{kind} takes rows of features (n,) or sequences of them (steps, n), "
                f"got {in_shape}; put Flatten before it"
            )
        return in_shape

    def sequence(self, in_shape: Any) -> Shape:
        """Returns `in_shape`, if it is that of sequences."""
        if len(in_shape) != 2:
            kind = type(self).__name__
            raise ShapeError(f"{kind} takes sequences (steps, features), got {in_shape}")
        return in_shape
