"""A module of PyTorch as a network of sparkdl."""

from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Boolean, Choice, dataclass, option
from sparkdl.errors import ConfigError
from sparkdl.interop.live.array_shapes import ArrayShapes
from sparkdl.interop.live.live_model import MODULE, LiveModel
from sparkdl.interop.live.maker import MakerOption
from sparkdl.interop.torch.module_arrays import (
    build_module,
    first_values,
    kept,
    load_torch,
    output_shape,
    shapes_of,
    trained,
)
from sparkdl.interop.torch.module_optimizer import describe_optimizer
from sparkdl.nn.layout import Layout
from sparkdl.nn.optimizers import Sgd

DEFAULT = Sgd(learning_rate=0.01)  # of Conf.optimizer


@dataclass(frozen=True, kw_only=True)
class TorchModel(LiveModel):
    """A torch.nn.Module that is trained under any training master, like a network of ours.

    Its parameters and buffers live in the flat vectors that masters exchange; torch computes the
    module and its gradients, the engine the loss, the optimizer and what lies between workers. So
    averaging, all-reduce, servers, codecs, checkpoints, evaluation and `predict` are those of other
    networks. Clipping and penalties are options here, not torch's; the optimizer is one of ours, or
    one of torch's by `torch_optimizer`.

    Executors need torch. The function `make` travels to them by cloudpickle; documents of models
    hold its name alone, so a process that loads one makes a TorchModel with the function first.
    torch's random numbers (dropout) are seeded for each batch by the seed, the epoch and the
    records, so that a fit repeats bit for bit. It computes on the CPU.

    Raises
    ------
    ConfigError
        `make` gives no module, or one with other arrays than float32; torch is missing;
        `channels_last` for examples that are no images.
    ShapeError
        The module cannot take the input, or gives no single float32 output.

    Examples
    --------
    >>> def lenet():                                                     # doctest: +SKIP
    ...     from torch import nn
    ...     return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    >>> model = TorchModel(make=lenet, input_shape=(1, 28, 28), optimizer="adam")  # doctest: +SKIP
    >>> SparkNetwork(sc, model, AllReduceSGD()).fit(df, epochs=3)        # doctest: +SKIP
    """

    builds: ClassVar[str] = "torch.nn.Module"

    make: Any = option(
        MakerOption(owner="TorchModel", builds="torch.nn.Module"),
        "Function without arguments that builds the module, on the driver and in each worker.",
    )
    framework: str = option(
        Choice(of=("torch",)), "The framework, as documents name it.", default="torch"
    )
    channels_last: bool = option(
        Boolean(),
        "Images lie in memory as torch.channels_last has them: the same numbers but for rounding; "
        "on CPUs steps with convolutions are faster, and `.view` of what these give is refused.",
        default=False,
    )

    torch_optimizer: Any = option(
        MakerOption(
            owner="TorchModel",
            builds="torch.optim.Optimizer",
            name="torch_optimizer",
            takes="of the module",
        ),
        "Function of the module that builds an optimizer of torch, in place of `optimizer`: "
        "`lambda module: torch.optim.AdamW(module.parameters(), lr=1e-3)`. Its state travels and "
        "is saved as that of ours is. Penalties and clipping are then its own affair, and no "
        "ParameterServer trains with it. What a batch does not reach has a gradient of zeros.",
        default=None,
    )
    optimizer_state: Any = option(
        ArrayShapes(),
        "Names and shapes of the state of torch_optimizer. None: it is built to ask.",
        default=None,
    )

    def validate(self) -> None:
        if self.channels_last and len(self.input_shape) != 3:
            raise ConfigError(
                "TorchModel.channels_last must be False unless examples are (channels, height, "
                f"width), got input_shape {self.input_shape}"
            )
        super().validate()
        if self.torch_optimizer is not None:
            self._describe_optimizer()
            self._check_options_without_effect()

    def _describe_optimizer(self) -> None:
        """Takes over the learning rate, which histories show, and how the state is laid out."""
        if self.optimizer_state is None:
            module = build_module(self.make, self.seed)
            rate, state = describe_optimizer(self.torch_optimizer, module)
            if self.optimizer not in (DEFAULT, Sgd(learning_rate=rate)):
                raise ConfigError(
                    "TorchModel.optimizer must be left out with torch_optimizer, got "
                    f"{self.optimizer!r}"
                )
            self._set("optimizer", Sgd(learning_rate=rate))
            self._set("optimizer_state", state)

    def _check_options_without_effect(self) -> None:
        """Raises ConfigError for what the engine's optimizers do and torch's do not."""
        for name, nothing in (("l1", 0), ("l2", 0), ("clipping", None), ("constraints", ())):
            if getattr(self, name) != nothing:
                raise ConfigError(
                    f"TorchModel.{name} must be {nothing!r} with torch_optimizer, got "
                    f"{getattr(self, name)!r}; give weight_decay to the optimizer, or take one of "
                    "sparkdl's"
                )

    def chosen(self) -> dict[str, Any]:
        chosen = super().chosen()
        if self.torch_optimizer is not None:
            chosen["torch_optimizer"] = self.torch_optimizer.reference
        return chosen

    @cached_property
    def slots_layout(self) -> Layout:
        if self.torch_optimizer is None:
            return super().slots_layout
        return Layout(tuple((f"{MODULE}/{name}", shape) for name, shape in self.optimizer_state))

    @property
    def has_own_optimizer(self) -> bool:
        return self.torch_optimizer is not None

    def describe(self) -> tuple[Any, Any, Any]:
        module = build_module(self.make, self.seed)
        shape = output_shape(module, self)
        return shape, shapes_of(trained(module)), shapes_of(kept(module))

    def first_values(self) -> dict[str, np.ndarray]:
        return first_values(self.make, self.seed)

    @property
    def replica_class(self) -> Any:
        load_torch()  # else importing the replica fails without a cure
        return import_module(f"{__package__}.torch_replica").TorchReplica
