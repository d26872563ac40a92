"""The arrays of a module: what is trained, what is kept, and their first values."""

from functools import lru_cache
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, ShapeError, brief, needs_package


def load_torch() -> Any:
    """Returns torch; ConfigError where it is not installed."""
    where = "PyTorch in each process"
    with needs_package("a TorchModel", where, "pip install torch", ConfigError):
        import torch
    return torch


def build_module(maker: Any, seed: int) -> Any:
    """Returns a new module whose first values follow from `seed`.

    Raises
    ------
    ConfigError
        It is no Module, or has arrays that cannot be trained here.
    """
    torch = load_torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = maker()
    if not isinstance(module, torch.nn.Module):
        raise ConfigError(
            f"TorchModel.make must return a torch.nn.Module, got {brief(module)} from {maker}"
        )
    check_arrays(module, torch)
    return module


def check_arrays(module: Any, torch: Any) -> None:
    """Raises ConfigError for an array or layer whose state would not travel."""
    for name, array in (*module.named_parameters(), *kept(module)):
        if array.dtype != torch.float32 or array.device.type != "cpu":
            raise ConfigError(
                f"TorchModel.make must give parameters and float buffers of float32 on the CPU, "
                f"got {name} of {array.dtype} on {array.device}; leave .half() and .to() away"
            )
    for name, part in module.named_modules():
        if getattr(part, "track_running_stats", False) and part.momentum is None:
            raise ConfigError(
                f"TorchModel.make must give BatchNorm a momentum, got None in {name}: the count of "
                "batches is no array that workers can average"
            )


def kept(module: Any) -> list[tuple[str, Any]]:
    """Returns [(name, array)] of what is not trained: float buffers, and frozen parameters."""
    frozen = [(name, p) for name, p in module.named_parameters() if not p.requires_grad]
    return frozen + [(name, b) for name, b in module.named_buffers() if b.is_floating_point()]


def constants(module: Any) -> list[tuple[str, Any]]:
    """Returns [(name, buffer)] of integers and booleans, such as places and causal masks.

    They are as `make` builds them. BatchNorm's count of batches is none of them: nothing reads it.
    """
    named = module.named_buffers()
    rest = [(name, b) for name, b in named if not b.is_floating_point()]
    return [(name, b) for name, b in rest if not name.endswith("num_batches_tracked")]


def trained(module: Any) -> list[tuple[str, Any]]:
    """Returns [(name, parameter)] of what is trained; shared ones come once."""
    return [(name, p) for name, p in module.named_parameters() if p.requires_grad]


def shapes_of(arrays: list[tuple[str, Any]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, tuple(array.shape)) for name, array in arrays)


@lru_cache(maxsize=2)
def first_values(maker: Any, seed: int) -> dict[str, np.ndarray]:
    """Returns {name: first value} of a module's arrays."""
    module = build_module(maker, seed)
    return {n: a.detach().numpy().copy() for n, a in (*trained(module), *kept(module))}


def input_tensor(examples: np.ndarray, model: Any) -> Any:
    """Returns a batch as the module of a TorchModel takes it, in memory of its own."""
    torch = load_torch()
    x = torch.from_numpy(np.array(examples, dtype=model.input_type))
    return x.to(memory_format=torch.channels_last) if model.channels_last else x


def output_shape(module: Any, model: Any) -> tuple[int, ...]:
    """Returns the shape of one example's output of a TorchModel's module.

    Raises
    ------
    ShapeError
        It cannot take the input, or does not give one float32 array with the batch in front.
    """
    torch = load_torch()
    try:
        with torch.no_grad():
            y = module.eval()(input_tensor(np.zeros((2, *model.input_shape)), model))
    except Exception as error:
        cure = "; write reshape for view, or channels_last=False" if model.channels_last else ""
        raise ShapeError(
            f"TorchModel.make must give a module that takes {model.input_shape}, got {error}{cure}"
        ) from error
    if not torch.is_tensor(y) or y.dtype != torch.float32 or y.shape[:1] != (2,) or y.ndim < 2:
        got = f"{tuple(y.shape)} of {y.dtype}" if torch.is_tensor(y) else brief(y)
        raise ShapeError(
            "TorchModel.make must give a module with one float32 output (batch, units, ...), "
            f"got {got} for a batch of 2"
        )
    return tuple(y.shape[1:])
