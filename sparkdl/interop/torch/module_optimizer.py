"""A torch optimizer of a TorchModel; its state is in the vector of slots."""

from functools import lru_cache
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, brief
from sparkdl.interop.live.live_model import MODULE
from sparkdl.interop.torch.module_arrays import ModuleSpec, build_module, load_torch, trained

WRITTEN = "lambda module: torch.optim.AdamW(module.parameters(), lr=1e-3)"  # for errors


class ModuleOptimizer:
    """The optimizer of a module whose parameters and gradients are views of vectors.

    Parameters
    ----------
    make : Maker
        Builds the optimizer of a module.
    views : {"module/parameter:state": tensor}
        The state between steps, which is averaged, sent and saved.
    schedule : ModuleSchedule or None
        Of its groups' options.
    on_gpu : bool
        Whether the vectors are on a GPU. torch then keeps step counts on the CPU, so they are
        copied at each step; see `counts_on_host`.
    """

    def __init__(
        self,
        make: Any,
        module: Any,
        views: dict[str, Any],
        schedule: Any = None,
        on_gpu: bool = False,
    ) -> None:
        self._make, self._module, self._schedule = make, module, schedule
        self._all, self._on_gpu = views, on_gpu
        self._optimizer: Any = None

    def _start(self) -> None:
        self._optimizer, self._bound = build_optimizer(self._make, self._module), False
        counts = counts_on_host(self._optimizer, self._module) if self._on_gpu else ()
        self._counts = {n: v for n, v in self._all.items() if n in counts and not v.ndim}
        self._views = {n: v for n, v in self._all.items() if n not in self._counts}
        self._rates = [float(group["lr"]) for group in self._optimizer.param_groups]

    def step(self, factor: Any, steps: int, first: bool) -> None:
        """Updates the parameters once, at a step of the schedule; see LiveReplica._move."""
        if first or self._optimizer is None:
            self._start()
        if not first:
            self._bind()
        options = self._options(factor, steps)
        for group, own in zip(self._optimizer.param_groups, options, strict=True):
            group.update(own)
        self._optimizer.step()
        self._take_back()

    def _options(self, factor: Any, steps: int) -> list[dict[str, Any]]:
        """Returns a list of {option: value}, one for each group, for an update."""
        if self._schedule is None:
            return [{"lr": rate * float(factor)} for rate in self._rates]
        rates = np.atleast_1d(factor).tolist()
        groups = zip(self._schedule.options(steps), rates, strict=True)
        return [group | {"lr": rate} for group, rate in groups]

    def _bind(self) -> None:
        """Makes the optimizer continue from the state in the vector."""
        self._bind_views()
        if self._counts:
            fetched = load_torch().stack([*self._counts.values()]).cpu()
            self._put(dict(zip(self._counts, fetched, strict=True)))

    def _bind_views(self) -> None:
        if not self._bound:
            self._put(self._views)
            self._bound = True

    def _put(self, tensors: dict[str, Any]) -> None:
        """Sets the optimizer's state to these tensors."""
        named = dict(trained(self._module))
        for name, tensor in tensors.items():
            parameter, _, key = name.removeprefix(f"{MODULE}/").rpartition(":")
            self._optimizer.state[named[parameter]][key] = tensor

    def _take_back(self) -> None:
        """Copies state that the step has reallocated back into the vector."""
        found = {
            f"{MODULE}/{name}": array for name, array in state_of(self._optimizer, self._module)
        }
        if found.keys() != self._all.keys():
            other = min(found.keys() ^ self._all.keys())
            raise ConfigError(
                "TorchModel.torch_optimizer must build an optimizer with the same state as when "
                f"the model was made, got another one: {other}"
            )
        for name, view in self._views.items():
            if found[name].data_ptr() != view.data_ptr():
                view.copy_(found[name].detach())
                self._bound = False
        if self._counts:
            self._bring_back([found[name].cpu() for name in self._counts])
        self._bind_views()

    def _bring_back(self, counts: list[Any]) -> None:
        """Copies counts into the vector in one transfer, since each transfer to a GPU blocks."""
        views = [*self._counts.values()]
        for view, count in zip(views, load_torch().stack(counts).to(views[0].device), strict=True):
            view.copy_(count)


def counts_on_host(optimizer: Any, module: Any) -> set[str]:
    """Returns the names of the step counts that are on the CPU while parameters are on the GPU.

    This follows torch's load_state_dict: "fused" and "capturable" groups count on the GPU.
    """
    groups = optimizer.param_groups
    hosted = [group for group in groups if not (group.get("fused") or group.get("capturable"))]
    counted = {id(p) for group in hosted for p in group["params"]}
    return {f"{MODULE}/{name}:step" for name, p in trained(module) if id(p) in counted}


def build_optimizer(make: Any, module: Any) -> Any:
    """Returns a module's optimizer.

    Raises
    ------
    ConfigError
        If it is no torch.optim.Optimizer, or omits trained parameters.
    """
    torch, optimizer = load_torch(), call_maker(make, module)
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ConfigError(
            f"TorchModel.torch_optimizer must return a torch.optim.Optimizer, got "
            f"{brief(optimizer)} from {make}; write {WRITTEN}"
        )
    moved = {id(p) for group in optimizer.param_groups for p in group["params"]}
    left = [name for name, p in trained(module) if id(p) not in moved]
    if left:
        raise ConfigError(
            "TorchModel.torch_optimizer must update all trained parameters, got no update of "
            f"{left[0]}; give it module.parameters(), or freeze the others by "
            "requires_grad_(False)"
        )
    return optimizer


def call_maker(make: Any, module: Any) -> Any:
    """Returns what `make` builds; ConfigError if it is a class that takes no module."""
    try:
        return make(module)
    except TypeError as error:
        if not make.is_class:
            raise
        raise ConfigError(
            "TorchModel.torch_optimizer must be a function of the module, got a class, which takes "
            f"parameters, from {make}; write {WRITTEN}"
        ) from error


def state_of(optimizer: Any, module: Any) -> list[tuple[str, Any]]:
    """Returns [("parameter:state", tensor)] of an optimizer after a step.

    Raises
    ------
    ConfigError
        If some state is no float32 tensor, so it cannot be sent.
    """
    torch, found = load_torch(), []
    for name, parameter in trained(module):
        for key, value in optimizer.state.get(parameter, {}).items():
            if value is None:
                continue
            if not torch.is_tensor(value) or value.dtype != torch.float32:
                raise ConfigError(
                    "TorchModel.torch_optimizer must build an optimizer whose state is float32 "
                    f"tensors, got {key} = {brief(value)} of {type(optimizer).__name__}"
                )
            found.append((f"{name}:{key}", value))
    return found


@lru_cache(maxsize=8)
def describe_optimizer(make: Any, spec: ModuleSpec) -> tuple[float, Any]:
    """Returns (learning rate of the first group, ((name, shape), ...) of the state).

    A step with zero gradients on a separate module creates the state.
    """
    module = build_module(spec)
    torch, optimizer = load_torch(), build_optimizer(make, module)
    for _, parameter in trained(module):
        parameter.grad = torch.zeros_like(parameter)
    try:
        optimizer.step()
        state = tuple((name, tuple(array.shape)) for name, array in state_of(optimizer, module))
        rate, options = float(optimizer.param_groups[0]["lr"]), options_of(optimizer)
        optimizer.step()
    except (TypeError, RuntimeError, AssertionError) as error:  # a closure, other gradients, a GPU
        raise ConfigError(
            "TorchModel.torch_optimizer must build an optimizer whose step() takes no arguments "
            f"and gradients as they are, got {type(optimizer).__name__}: {error}"
        ) from error
    changed = [key for key, value in options_of(optimizer).items() if value != options.get(key)]
    if changed:
        raise ConfigError(
            "TorchModel.torch_optimizer must build an optimizer whose state is in its tensors, got "
            f"{type(optimizer).__name__}, which changes {changed[0][1]!r} of a group at each step; "
            "neither workers nor checkpoints would have that number"
        )
    return rate, state


def options_of(optimizer: Any) -> dict[tuple[int, str], str]:
    """Returns {(group, option): value as text} of an optimizer."""
    return {
        (place, key): repr(value)
        for place, group in enumerate(optimizer.param_groups)
        for key, value in group.items()
        if key != "params"
    }
