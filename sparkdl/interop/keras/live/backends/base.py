"""Base of a model's functions, and of those on backends that update variables in place."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.interop.keras.live.load import load_keras
from sparkdl.interop.keras.live.outputs import mask_of
from sparkdl.interop.keras.live.variables import is_seed, refuse_losses, to_numpy

Arrays = list[np.ndarray]
NO_SEED = np.zeros(2, np.uint32)  # for inference, which draws no random numbers


class ModelFunctions(ABC):
    """A model as functions of numpy arrays.

    Parameters
    ----------
    model : keras.Model
    gpu : int or None
        Number of the GPU to compute on, among those visible to this process. None: the CPU.

    Raises
    ------
    ConfigError
        If the backend finds no such GPU.
    """

    def __init__(self, model: Any, gpu: int | None = None) -> None:
        self.model, self._device = model, self._find_device(gpu)
        self._are_seeds = [is_seed(one) for one in model.non_trainable_variables]

    @abstractmethod
    def _find_device(self, gpu: int | None) -> Any:
        """Returns the backend's device for `gpu`."""

    @abstractmethod
    def train(
        self, values: Arrays, held: Arrays, seed: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, Any, Callable[[np.ndarray], Arrays], Arrays]:
        """Computes the forward pass of a batch in training.

        Parameters
        ----------
        values, held : list of array
            Trained and untrained variables.
        seed : array of two uint32
        x : array (batch, ...)

        Returns
        -------
        y : array
        mask : tensor of the backend, or None
            The mask that Keras's losses would apply to y.
        back : function
            Maps the gradient of the loss by y to those by `values`.
        held : list of array
            Untrained variables after the batch.

        Raises
        ------
        ConfigError
            If layers add losses.
        """

    @abstractmethod
    def use(self, values: Arrays, held: Arrays, x: np.ndarray) -> tuple[np.ndarray, Any]:
        """Returns (y, mask) of a batch at inference; see `train`."""

    @abstractmethod
    def stepper(self, optimizer: Any) -> Callable[[list, Arrays, Arrays], tuple[Arrays, Arrays]]:
        """Returns a function that does one optimizer step.

        It takes the optimizer's variables, gradients and values, and returns the values and the
        variables after the step.
        """

    def _forward(self, values: Any, others: Any, x: Any) -> tuple[Any, tuple[Any, list]]:
        """Returns (y, (mask, untrained variables)) of a batch in training, as backend tensors."""
        y, changed, losses = self.model.stateless_call(
            values, others, x, training=True, return_losses=True
        )
        refuse_losses(losses)
        return y, (mask_of(y), self._without_seeds(changed))

    def _output(self, values: Any, others: Any, x: Any) -> tuple[Any, Any]:
        """Returns (y, mask) of a batch at inference, as backend tensors."""
        y = self.model.stateless_call(values, others, x, training=False)[0]
        return y, mask_of(y)

    def _with_seeds(self, held: Any, seed: np.ndarray = NO_SEED) -> list:
        """Returns all untrained variables in Keras's order, including seeds for the generators."""
        rest, found = iter(held), []
        for i, needs_seed in enumerate(self._are_seeds):
            own = np.array([seed[0], (int(seed[1]) + (i << 16)) & 0xFFFFFFFF], np.uint32)
            found.append(own if needs_seed else next(rest))
        return found

    def _without_seeds(self, others: Any) -> list:
        pairs = zip(self._are_seeds, others, strict=True)
        return [value for is_a_seed, value in pairs if not is_a_seed]


def no_gpu(backend: str, gpu: int) -> ConfigError:
    """Returns the error for a backend that does not find the GPU with this number."""
    return ConfigError(
        f'TrainingMaster.device must be "cpu" for a KerasModel where {backend} finds no GPU {gpu}, '
        f'got "cuda"; install {backend} for the CUDA of this machine'
    )


class ChangedInPlace(ModelFunctions):
    """Functions on a backend whose optimizers update variables in place.

    Variables and optimizers are on the CPU.
    """

    def stepper(self, optimizer: Any) -> Callable[[list, Arrays, Arrays], tuple[Arrays, Arrays]]:
        trained, apply = self.model.trainable_variables, self._apply(optimizer)

        def step(variables, slopes, values):
            own = optimizer.variables
            with load_keras().device("cpu"):
                for variable, value in zip([*own, *trained], [*variables, *values], strict=True):
                    variable.assign(value)
            apply(slopes)
            return [to_numpy(one) for one in trained], [to_numpy(one) for one in own]

        return step

    @abstractmethod
    def _apply(self, optimizer: Any) -> Callable[[Arrays], None]:
        """Returns a function that applies gradients with the optimizer."""
