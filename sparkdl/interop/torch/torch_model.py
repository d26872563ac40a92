"""A module of PyTorch as a network of sparkdl."""

from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Boolean, Choice, dataclass, option
from sparkdl.errors import ConfigError
from sparkdl.interop.live.live_model import LiveModel
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
    optimizer_option: ClassVar[str] = "torch_optimizer"

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

    def validate(self) -> None:
        if self.channels_last and len(self.input_shape) != 3:
            raise ConfigError(
                "TorchModel.channels_last must be False unless examples are (channels, height, "
                f"width), got input_shape {self.input_shape}"
            )
        super().validate()

    def describe(self) -> tuple[Any, Any, Any]:
        module = build_module(self.make, self.seed)
        shape = output_shape(module, self)
        return shape, shapes_of(trained(module)), shapes_of(kept(module))

    def first_values(self) -> dict[str, np.ndarray]:
        return first_values(self.make, self.seed)

    def describe_optimizer(self) -> tuple[float, Any]:
        return describe_optimizer(self.torch_optimizer, self.make, self.seed)

    @property
    def replica_class(self) -> Any:
        load_torch()  # else importing the replica fails without a cure
        return import_module(f"{__package__}.torch_replica").TorchReplica
