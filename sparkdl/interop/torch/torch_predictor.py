"""PyTorch modules as predictors."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError, ShapeError, brief
from sparkdl.interop.live.maker import maker_of
from sparkdl.interop.predictors.predictor import ArraySpec, Predictor
from sparkdl.interop.torch.module_arrays import load_torch
from sparkdl.training.rounds.replica import count_threads

LONG = 17  # steps; long enough to tell lengths apart when a module pools steps


class TorchPredictor(Predictor):
    """A torch.nn.Module for prediction, with any inputs and outputs; torch computes it on the CPU.

    Outputs are named as in the mapping that the module returns (Hugging Face models return one),
    else "output", or "output_0", "output_1" ... for a tuple. Outputs that are not tensors are left
    out.

    Parameters
    ----------
    make : function
        Without arguments; returns the module with its weights. It runs here once, for the shapes of
        the outputs, and in each process of the executors, to which it travels by cloudpickle: what
        it holds, such as a module or a state_dict, travels along.
    inputs : {name: (dtype, shape of one example)}
        None in a shape is an axis of any length. Names are those of parameters of `forward`; an
        only input may have any name.

    Raises
    ------
    ConfigError
        `make` gives no module, or one that does not take such inputs by name; torch is missing.
    ShapeError
        The module cannot take such arrays, or gives no tensor with the examples in front.

    Examples
    --------
    >>> def make():                                                      # doctest: +SKIP
    ...     from transformers import AutoModel
    ...     return AutoModel.from_pretrained("/models/minilm")
    >>> ids = ("int64", (None,))                                         # doctest: +SKIP
    >>> TorchPredictor(make, inputs={"input_ids": ids, "attention_mask": ids})  # doctest: +SKIP
    """

    def __init__(
        self, make: Callable[[], Any], inputs: dict[str, tuple[str, tuple[int | None, ...]]]
    ) -> None:
        self.make = maker_of(make, "TorchPredictor")
        self.inputs = {name: ArraySpec(*spec) for name, spec in inputs.items()}
        module = self._build()
        self.by_name = takes_names(module, [*self.inputs])
        run = self._function(module)
        sizes = [self._shapes(run, n, n) for n in (2, 3)]  # two, to detect open axes
        if any(None in spec.shape for spec in self.inputs.values()):
            with suppress(ShapeError):  # from a module that rejects such lengths
                sizes.append(self._shapes(run, 2, LONG))
        self.outputs = {name: common_spec(name, sizes) for name in sizes[0]}

    def _build(self):
        torch = load_torch()
        module = self.make()
        if not isinstance(module, torch.nn.Module):
            raise ConfigError(
                f"TorchPredictor.make must return a torch.nn.Module, got {brief(module)}"
            )
        module.eval()
        return module

    def _shapes(self, run, n, length):
        """Returns {output: (dtype, shape, n)} for n examples with open axes of a given length."""
        arrays = {
            name: np.zeros((n, *(length if axis is None else axis for axis in shape)), dtype)
            for name, (dtype, shape) in self.inputs.items()
        }
        try:
            outputs = run(arrays)
        except Exception as error:
            shapes = {name: array.shape for name, array in arrays.items()}
            raise ShapeError(
                f"TorchPredictor.make must give a module that takes {shapes}, got {error}"
            ) from error
        return {name: (array.dtype.name, array.shape, n) for name, array in outputs.items()}

    def _function(self, module):
        torch = load_torch()

        def run(arrays):
            tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
            with torch.inference_mode():
                y = module(**tensors) if self.by_name else module(*tensors.values())
            return {name: as_array(each, torch) for name, each in named_outputs(y, torch).items()}

        return run

    def load(self, outputs: list[str]) -> Any:
        load_torch().set_num_threads(count_threads())
        run = self._function(self._build())

        def predict(arrays):
            found = run(arrays)
            return {name: found[name] for name in outputs}

        return predict


def takes_names(module, names):
    """Returns whether `forward` has parameters of these names."""
    parameters = inspect.signature(module.forward).parameters
    known = all(name in parameters for name in names)
    if not known and len(names) != 1:
        raise ConfigError(
            f"TorchPredictor.inputs must be named as parameters of forward, {[*parameters]}, got "
            f"{names}"
        )
    return known


def named_outputs(y, torch):
    """Returns {name: tensor} of a module's outputs."""
    if torch.is_tensor(y):
        return {"output": y}
    named = y if isinstance(y, Mapping) else {f"output_{i}": part for i, part in enumerate(y)}
    return {name: part for name, part in named.items() if torch.is_tensor(part)}


def as_array(tensor, torch):
    """Returns a tensor as an array; in float32 if numpy lacks its type, such as bfloat16."""
    known = torch.float16, torch.float32, torch.float64
    narrow = tensor.is_floating_point() and tensor.dtype not in known
    return (tensor.float() if narrow else tensor).numpy(force=True)


def common_spec(name, sizes):
    """Returns the ArraySpec of an output from its (dtype, shape, n) in several batches."""
    found = [size[name] for size in sizes]
    dtype, first, batch = found[0]
    if any(shape[:1] != (n,) or len(shape) != len(first) for _, shape, n in found):
        raise ShapeError(
            "TorchPredictor.make must give a module whose outputs have the examples in front, got "
            f"{name} of {tuple(first)} for a batch of {batch}"
        )
    axes = zip(*(shape[1:] for _, shape, _ in found), strict=True)
    return ArraySpec(dtype, tuple(axis[0] if len(set(axis)) == 1 else None for axis in axes))
