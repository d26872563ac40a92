"""The arrays of a module: trained parameters, kept buffers, and their initial values."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from sparkdl.errors import ConfigError, DataError, ShapeError, brief, needs_package
from sparkdl.interop.live.array_shapes import shapes_of
from sparkdl.interop.live.random_state import keeping_states

ONE_OUTPUT = "TorchModel.make must give a module with one float32 output (batch, units, ...)"
LOGITS = "logits"  # where models of texts have their scores
MASK = "mask"  # value of TorchModel.padding: the module gets a mask


class ModuleSpec(NamedTuple):
    """How a module is built, and what it takes; options of a TorchModel."""

    make: Any
    seed: int
    input_shape: Sequence[int]
    input_type: str
    channels_last: bool
    padding: str


def load_torch() -> Any:
    """Returns torch; ConfigError if it is not installed."""
    where = "PyTorch in each process"
    with needs_package("a TorchModel", where, "pip install torch", ConfigError):
        import torch
    return torch


def build_module(spec: ModuleSpec) -> Any:
    """Returns a new module with initial values drawn from the seed.

    Raises
    ------
    ConfigError
        If it is no Module, or has arrays that cannot be trained here.
    """
    torch = load_torch()
    with seeded(spec.seed):
        module = new_module(spec.make)
        if any(map(is_lazy, module.parameters())) or any(map(is_lazy, module.buffers())):
            output_of_zeros(module, spec)  # gives lazy arrays their shapes
    check_arrays(module, torch)
    return module


def new_module(maker: Any) -> Any:
    """Returns the result of `maker`; ConfigError if it is no Module."""
    torch, module = load_torch(), maker()
    if not isinstance(module, torch.nn.Module):
        raise ConfigError(
            f"TorchModel.make must return a torch.nn.Module, got {brief(module)} from {maker}"
        )
    return module


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seeds torch, numpy and Python's random; restores their states afterwards."""
    torch = load_torch()
    with keeping_states(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed([seed & 0xFFFFFFFF, seed >> 32])
        yield


def is_lazy(array: Any) -> bool:
    """Returns whether an array has no shape before the first forward pass."""
    return bool(load_torch().nn.parameter.is_lazy(array))


def check_arrays(module: Any, torch: Any) -> None:
    """Raises ConfigError for an array or layer whose state could not be sent to executors."""
    for name, array in (*module.named_parameters(), *kept(module)):
        if is_lazy(array):
            raise ConfigError(
                f"TorchModel.make must give a module whose forward reaches all lazy layers, got "
                f"{name} without a shape; build that layer with its sizes"
            )
        if array.dtype != torch.float32 or array.device.type != "cpu":
            raise ConfigError(
                "TorchModel.make must give parameters and float buffers of float32 on the CPU, "
                f"got {name} of {array.dtype} on {array.device}; remove .half() and .to()"
            )
    for name, part in module.named_modules():
        if getattr(part, "track_running_stats", False) and part.momentum is None:
            raise ConfigError(
                f"TorchModel.make must give BatchNorm a momentum, got None in {name}: workers "
                "cannot average its count of batches"
            )


def kept(module: Any) -> list[tuple[str, Any]]:
    """Returns [(name, array)] of untrained arrays: float buffers and frozen parameters."""
    frozen = [(name, p) for name, p in module.named_parameters() if not p.requires_grad]
    return frozen + [(name, b) for name, b in module.named_buffers() if b.is_floating_point()]


def constants(module: Any) -> list[tuple[str, Any]]:
    """Returns [(name, buffer)] of integers and booleans, such as position ids and causal masks.

    They keep the values that `make` gives them. BatchNorm's num_batches_tracked is left out, since
    nothing reads it.
    """
    named = module.named_buffers()
    rest = [(name, b) for name, b in named if not b.is_floating_point()]
    return [(name, b) for name, b in rest if not name.endswith("num_batches_tracked")]


def trained(module: Any) -> list[tuple[str, Any]]:
    """Returns [(name, parameter)] of trained parameters; shared ones occur once."""
    return [(name, p) for name, p in module.named_parameters() if p.requires_grad]


def first_values(spec: ModuleSpec) -> dict[str, np.ndarray]:
    """Returns {name: initial value} of the arrays of a new module."""
    module = build_module(spec)
    return {n: a.detach().numpy().copy() for n, a in (*trained(module), *kept(module))}


def input_tensor(examples: np.ndarray, spec: Any, device: str = "cpu") -> Any:
    """Returns a copy of a batch as an input tensor of a TorchModel's module.

    Raises
    ------
    DataError
        If numbers are not valid integers, because a transform changed them.
    """
    torch = load_torch()
    with np.errstate(invalid="ignore"):
        x = np.array(examples, dtype=spec.input_type)
    wrong = x != examples if x.dtype.kind == "i" and examples.dtype.kind == "f" else np.False_
    if wrong.any():
        raise DataError(
            f"features must be whole numbers, as TorchModel.input_type is {spec.input_type}, got "
            f"{examples[wrong][0]}"
        )
    tensor = torch.from_numpy(x).to(device)
    return tensor.to(memory_format=torch.channels_last) if spec.channels_last else tensor


def run_module(module: Any, x: Any, *mask: Any) -> Any:
    """Returns a module's output.

    Raises
    ------
    DataError
        If it looks up ids out of range.
    ShapeError
        If it is no array, which may depend on whether the module is in training.
    """
    try:
        y = module(x, *mask)
    except IndexError as error:
        raise DataError(
            f"features must be numbers that the module can look up, got {x.min()} to {x.max()}: "
            f"{error}"
        ) from error
    if not load_torch().is_tensor(y):
        mode = "in training" if module.training else "in eval mode"
        raise ShapeError(f"{ONE_OUTPUT}, got {describe_output(y)} {mode}{output_cure(y)}")
    return y


def describe_output(y: Any) -> str:
    """Returns a description of a module's output."""
    if load_torch().is_tensor(y):
        return f"{tuple(y.shape)} of {y.dtype}"
    if isinstance(y, Mapping):
        return f"a {type(y).__name__} with the keys {brief(list(y))}"
    return f"a {type(y).__name__} of {len(y)}" if isinstance(y, list | tuple) else brief(y)


def output_cure(y: Any) -> str:
    """Returns what to do about an output of several arrays, for an error."""
    if not isinstance(y, Mapping | list | tuple) or not len(y):
        return ""
    keys = list(y) if isinstance(y, Mapping) else range(len(y))
    key = next((key for key in keys if key == LOGITS), keys[0])
    return f"; return one of them from forward, such as [{key!r}]"


def describe_arrays(module: Any, spec: ModuleSpec) -> tuple[Any, Any, Any]:
    """Returns (shape of an example's output, shapes of trained arrays, of kept arrays).

    Raises
    ------
    ConfigError
        If a forward pass changes the shapes.
    """
    before = shapes_of(trained(module)), shapes_of(kept(module))
    shape = output_shape(module, spec)
    changed = {*shapes_of(trained(module)), *shapes_of(kept(module))} ^ {*before[0], *before[1]}
    if changed:
        raise ConfigError(
            "TorchModel.make must give a module whose arrays keep their shapes, got "
            f"{min(changed)[0]} of another shape after a forward pass; make it a plain attribute"
        )
    return shape, *before


def output_shape(module: Any, spec: ModuleSpec) -> tuple[int, ...]:
    """Returns the shape of one example's output of a TorchModel's module.

    Raises
    ------
    ShapeError
        If it cannot take the input, or does not return one float32 array (batch, ...).
    """
    torch, y = load_torch(), output_of_zeros(module, spec)
    if not torch.is_tensor(y) or y.dtype != torch.float32 or y.shape[:1] != (2,) or y.ndim < 2:
        raise ShapeError(f"{ONE_OUTPUT}, got {describe_output(y)} for a batch of 2{output_cure(y)}")
    return tuple(y.shape[1:])


def output_of_zeros(module: Any, spec: ModuleSpec) -> Any:
    """Returns a module's output in eval mode for two examples of zeros; ShapeError if it fails."""
    try:
        return run_on_zeros(module, spec)
    except Exception as error:
        mask = " and a mask of steps" if spec.padding == MASK else ""
        raise ShapeError(
            f"TorchModel.make must give a module that takes {spec.input_shape} of "
            f"{spec.input_type}{mask}, got {error}{input_cure(module, spec)}"
        ) from error


def run_on_zeros(module: Any, spec: ModuleSpec) -> Any:
    """Returns a module's output in eval mode for two examples of zeros."""
    torch = load_torch()
    module.eval()
    x = input_tensor(np.zeros((2, *spec.input_shape)), spec)
    mask = [torch.ones(x.shape[:2], dtype=torch.bool)] if spec.padding == MASK else []
    with torch.no_grad():
        return module(x, *mask)


def input_cure(module: Any, spec: ModuleSpec) -> str:
    """Returns what makes a module take its input, for an error, or "" if that is unknown."""
    if spec.channels_last:
        return "; write reshape for view, or channels_last=False"
    other = "float32" if spec.input_type == "int64" else "int64"
    with suppress(Exception):
        run_on_zeros(module, spec._replace(input_type=other))
        what = "ids, as of an Embedding, need" if other == "int64" else "it takes"
        return f"; {what} input_type={other!r}"
    return ""
