"""A module of PyTorch as a network of sparkdl."""

from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Boolean, Choice, Optional, Text, dataclass, option
from sparkdl.errors import ConfigError
from sparkdl.interop.live.live_model import LiveModel
from sparkdl.interop.torch.module_arrays import (
    MASK,
    ModuleSpec,
    build_module,
    describe_arrays,
    first_values,
    load_torch,
)
from sparkdl.interop.torch.module_optimizer import WRITTEN, describe_optimizer
from sparkdl.interop.torch.module_schedule import MODULE, OPTIMIZER, SCHEDULER, ModuleSchedule
from sparkdl.nn.schedules import Schedule
from sparkdl.nn.schedules.base import PER
from sparkdl.training.workers.fork_server.own_server import SERVER

REPLICA = f"{__package__}.torch_replica"
OPTIMIZER_START = f"{__package__}.optimizer_start"


@dataclass(frozen=True, kw_only=True)
class TorchModel(LiveModel):
    """A torch.nn.Module that trains under any training master, like a sparkdl network.

    Its parameters and buffers live in the flat vectors that masters exchange. torch computes the
    module and its gradients; sparkdl computes the loss and the optimizer's steps, and connects the
    workers. So averaging, all-reduce, parameter servers, codecs, checkpoints, evaluation and
    `predict` work as for any network. Clipping is an option here, not torch's; penalties are,
    too, with sparkdl's optimizers. The optimizer is sparkdl's, or torch's with `torch_optimizer`.

    Executors need torch. They receive the function `make` by cloudpickle; saved models hold only
    its name, so a process that loads one must first create a TorchModel with that function. torch's
    random numbers (dropout) are seeded for each batch by the seed, the epoch and the records, so a
    fit is reproducible bit for bit (on a GPU, if torch's operations are). It uses a GPU if the
    worker has one, torch has CUDA and the master's `device` allows it; `make` builds the module on
    the CPU.

    Raises
    ------
    ConfigError
        `make` returns no module, or one whose arrays are not float32; torch is missing;
        `channels_last` is set for examples that are not images.
    ShapeError
        The module cannot take the input, or does not return a single float32 output.

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
    optimizer_example: ClassVar[str] = WRITTEN

    make: Any = option(
        MODULE,
        "Function without arguments that builds the module, on the driver and in each worker.",
    )
    framework: str = option(
        Choice(of=("torch",)), "The framework, as documents name it.", default="torch"
    )
    padding: str = option(
        Choice(of=("refused", "zeros", MASK)),
        'Handling of sequences with fewer steps than `input_shape`. "refused": an error. '
        '"zeros": zeros at the end, which the module must recognize as padding. "mask": '
        "`forward` also takes a second tensor, (batch, steps) of booleans, True for real steps. "
        "The loss ignores padding.",
        default="refused",
    )
    channels_last: bool = option(
        Boolean(),
        "Whether images use the memory format torch.channels_last: the same results but for "
        "rounding, and faster convolutions on CPUs; torch refuses `.view` of their outputs.",
        default=False,
    )

    torch_optimizer: Any = option(
        OPTIMIZER,
        "Function of the module that builds a torch optimizer, used instead of `optimizer`: "
        "`lambda module: torch.optim.AdamW(module.parameters(), lr=1e-3)`. Its state is "
        "exchanged and saved like that of sparkdl's optimizers. `clipping` comes before its step; "
        "penalties are up to it, and ParameterServer does not support it. Parameters that a batch "
        "does not reach have a gradient of zeros.",
        default=None,
    )
    torch_scheduler: Any = option(
        SCHEDULER,
        "Function of `torch_optimizer`'s optimizer that builds a torch scheduler, stepped per "
        "`torch_scheduler_per`: `lambda optimizer: "
        "torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=1000)`.",
        default=None,
    )
    torch_scheduler_per: str = option(
        Choice(of=PER),
        'When to step the scheduler: "iteration", after each update of a replica; "epoch", after '
        "each epoch.",
        default="iteration",
    )
    schedule_fingerprint: str | None = option(
        Optional(of=Text(what="a fingerprint")),
        "Fingerprint of the learning rates of the first thousand updates under "
        "`torch_scheduler`, by which a saved model recognizes the function. None: computed from "
        "the function.",
        default=None,
    )

    def validate(self) -> None:
        if self.torch_scheduler is not None and self.torch_optimizer is None:
            raise ConfigError(
                "TorchModel.torch_scheduler must be None without torch_optimizer, got "
                f"{self.torch_scheduler}; give `optimizer` a schedule of sparkdl's"
            )
        if self.channels_last and len(self.input_shape) != 3:
            raise ConfigError(
                "TorchModel.channels_last must be False unless examples are (channels, height, "
                f"width), got input_shape {self.input_shape}"
            )
        super().validate()
        SERVER.need([REPLICA] if self.torch_optimizer is None else [REPLICA, OPTIMIZER_START])

    def describe(self) -> tuple[Any, Any, Any]:
        return describe_arrays(build_module(self.module_spec), self.module_spec)

    def first_values(self) -> dict[str, np.ndarray]:
        return self._first_values

    @cached_property
    def _first_values(self) -> dict[str, np.ndarray]:
        """The values that `make` gives now, built once: a file that it reads may change later."""
        return first_values(self.module_spec)

    def describe_optimizer(self) -> tuple[float, Any]:
        return describe_optimizer(self.torch_optimizer, self.module_spec)

    @property
    def module_spec(self) -> ModuleSpec:
        """The specification by which each process builds the module."""
        return ModuleSpec(
            self.make,
            self.seed,
            self.input_shape,
            self.input_type,
            self.channels_last,
            self.padding,
        )

    def _scheduled(self, rate: float | Schedule) -> float | Schedule:
        if self.torch_scheduler is None:
            return rate
        makers = {
            "scheduler": self.torch_scheduler,
            "optimizer": self.torch_optimizer,
            "make": self.make,
        }
        schedule = ModuleSchedule(per=self.torch_scheduler_per, **makers)
        if all(maker.code is not None for maker in makers.values()):
            known = schedule.fingerprint()
            if self.schedule_fingerprint not in (None, known):
                raise ConfigError(
                    "TorchModel.torch_scheduler must be the one that the model was made with, got "
                    f"{self.torch_scheduler} with other learning rates; make a new TorchModel"
                )
            self._set("schedule_fingerprint", known)
        return schedule

    @property
    def module_schedule(self) -> ModuleSchedule | None:
        """The schedule of the optimizer's options, from `torch_scheduler`."""
        rate = getattr(self.optimizer, "learning_rate", None)
        return rate if isinstance(rate, ModuleSchedule) else None

    def rate_at(self, iteration: float, epoch: float) -> Any:
        """See Conf.rate_at; with a `torch_scheduler` and several groups, a vector of rates."""
        schedule = self.module_schedule
        if schedule is None:
            return super().rate_at(iteration, epoch)
        rates = schedule.rates(schedule.steps(iteration, epoch))
        return rates[0] if len(rates) == 1 else np.array(rates)

    def chosen(self) -> dict[str, Any]:
        chosen = super().chosen()
        if self.torch_scheduler is not None:
            chosen |= {"torch_scheduler": self.torch_scheduler.reference}
            chosen.pop("optimizer", None)  # implied by the function
        return chosen

    @property
    def replica_class(self) -> Any:
        load_torch()  # else importing the replica fails without a hint
        return import_module(REPLICA).TorchReplica
