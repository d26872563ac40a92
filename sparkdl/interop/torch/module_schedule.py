"""torch schedulers (`torch_scheduler`): the options of an optimizer's groups by step."""

import hashlib
import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any, ClassVar

from sparkdl.config import dataclass, option
from sparkdl.errors import ConfigError, brief
from sparkdl.interop.live.maker import MakerOption
from sparkdl.interop.torch.module_arrays import load_torch, new_module, seeded
from sparkdl.interop.torch.module_optimizer import WRITTEN, build_optimizer
from sparkdl.nn.schedules import Schedule

PARAMS, RATE = "params", "lr"  # keys of a torch parameter group
FIRST = 1000  # steps in a fingerprint
MODULE = MakerOption(owner="TorchModel", builds="torch.nn.Module")
OPTIMIZER = MakerOption(
    owner="TorchModel",
    builds="torch.optim.Optimizer",
    name="torch_optimizer",
    takes="of the module",
    example=WRITTEN,
)
SCHEDULER = MakerOption(
    owner="TorchModel",
    builds="torch.optim.lr_scheduler.LRScheduler",
    name="torch_scheduler",
    takes="of the optimizer",
    example="lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)",
)


@dataclass(frozen=True, kw_only=True)
class ModuleSchedule(Schedule, abstract=True):
    """The learning rate that a torch scheduler sets for a torch optimizer's first group.

    A TorchModel creates it from its functions; only these are saved.
    """

    scheduler: Any = option(SCHEDULER, "Builds the scheduler.")
    optimizer: Any = option(OPTIMIZER, "Builds the optimizer.")
    make: Any = option(MODULE, "Builds the module.")

    type_name: ClassVar[str] = "ModuleSchedule"

    def at(self, t: float) -> float:
        return self.rates(int(t))[0]

    def steps(self, iteration: float, epoch: float) -> int:
        """Returns how often the scheduler has been stepped before an update."""
        return int(iteration if self.per == "iteration" else epoch)

    def rates(self, steps: int) -> list[float]:
        """Returns the learning rate of each group after a number of steps."""
        return [float(group[RATE]) for group in self.options(steps)]

    def options(self, steps: int) -> list[dict[str, Any]]:
        """Returns {option: value} that the scheduler sets in each group after a number of steps.

        ConfigError if this process does not have the functions.
        """
        return schedule_of(self.scheduler, self.optimizer, self.make).at(steps)

    def fingerprint(self) -> str:
        """Returns a short hash of the rates in the first thousand steps."""
        return schedule_of(self.scheduler, self.optimizer, self.make).fingerprint()

    def chosen(self) -> dict[str, Any]:
        chosen = super().chosen()
        makers = {name: chosen[name].reference for name in ("scheduler", "optimizer", "make")}
        return chosen | makers


@lru_cache(maxsize=8)
def schedule_of(scheduler: Any, optimizer: Any, make: Any) -> "ScheduledOptions":
    """Returns the options set by a scheduler, for the optimizer of a separate module."""
    with seeded(0):  # its weights are not used
        module = new_module(make)
    return ScheduledOptions(scheduler, build_optimizer(optimizer, module))


class ScheduledOptions:
    """The options of an optimizer's groups after any number of scheduler steps.

    The scheduler is stepped once for each number, and the changed options are kept.

    Parameters
    ----------
    make : Maker
        Builds the scheduler.
    optimizer : torch.optim.Optimizer
        Gets the scheduler; its parameters are removed.

    Raises
    ------
    ConfigError
        If it is no scheduler, or its step() needs arguments.
    """

    def __init__(self, make: Any, optimizer: Any) -> None:
        torch, self._lock = load_torch(), threading.Lock()
        self._groups = optimizer.param_groups
        built = [plain(group) for group in self._groups]
        self._scheduler = make(optimizer)
        kinds = torch.optim.lr_scheduler
        own = isinstance(self._scheduler, kinds.LRScheduler)
        if not own or isinstance(self._scheduler, kinds.ReduceLROnPlateau):
            raise ConfigError(
                "TorchModel.torch_scheduler must return a torch.optim.lr_scheduler.LRScheduler "
                f"whose step() takes no arguments, got {brief(self._scheduler)} from {make}; by "
                "losses sparkdl.ReduceLROnPlateau, a listener, lowers the rate"
            )
        for group in self._groups:
            group[PARAMS] = []  # parameters would hold a whole module
        optimizer.step()  # does nothing; schedulers warn of an optimizer without steps
        self._first = [plain(group) for group in self._groups]
        pairs = zip(self._first, built, strict=True)
        self._set = [{RATE: own[RATE]} | differing(own, before) for own, before in pairs]
        self._changed: list[dict[str, list]] = [{} for _ in self._groups]
        self._count = 1  # numbers of steps that are known, from 0

    def at(self, steps: int) -> list[dict[str, Any]]:
        """Returns {option: value} of each group after a number of steps."""
        steps = max(steps, 0)
        with self._lock:
            while self._count <= steps:
                self._step()
            pairs = zip(self._set, self._changed, strict=True)
            return [own | {key: values[steps] for key, values in of.items()} for own, of in pairs]

    def fingerprint(self) -> str:
        """Returns a short hash of the rates in the first thousand steps."""
        found = []
        with suppress(ConfigError):  # from a scheduler that ends earlier
            for steps in range(FIRST):
                found.append([f"{group[RATE]:.6g}" for group in self.at(steps)])
        return hashlib.sha256(repr(found).encode()).hexdigest()[:16]

    def _step(self) -> None:
        try:
            self._scheduler.step()
        except Exception as error:  # user functions, or OneCycleLR after its last step
            raise ConfigError(
                "TorchModel.torch_scheduler must build a scheduler for the whole fit, got "
                f"{type(self._scheduler).__name__}, which ended after {self._count - 1}: {error}"
            ) from error
        for group, first, changed in zip(self._groups, self._first, self._changed, strict=True):
            for key, value in plain(group).items():
                if key not in changed and value != first.get(key):
                    changed[key] = [first.get(key)] * self._count
                if key in changed:
                    changed[key].append(value)
        self._count += 1


def differing(options: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Returns the options that are missing in `others`, or have another value there."""
    return {k: value for k, value in options.items() if k not in others or others[k] != value}


def plain(group: dict[str, Any]) -> dict[str, Any]:
    """Returns {option: value} of a group, without its parameters; tensors as numbers."""
    torch = load_torch()
    values = {key: value for key, value in group.items() if key != PARAMS}
    return {k: v.tolist() if torch.is_tensor(v) else v for k, v in values.items()}
