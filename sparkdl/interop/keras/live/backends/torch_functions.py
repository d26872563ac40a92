"""Functions of a model on PyTorch."""

import keras
import numpy as np
import torch

from sparkdl.interop.keras.live.backends.base import ChangedInPlace, no_gpu
from sparkdl.interop.keras.live.random_state import seeded_generator


class TorchFunctions(ChangedInPlace):
    """See ModelFunctions. On the CPU, tensors share memory with their arrays."""

    def _find_device(self, gpu):
        if gpu is not None and gpu >= torch.cuda.device_count():
            raise no_gpu("torch", gpu)
        return "cpu" if gpu is None else f"cuda:{gpu}"

    @property
    def _gpus(self):
        """The GPUs from whose generators a batch draws random numbers."""
        return [] if self._device == "cpu" else [self._device]

    def _tensors(self, arrays):
        return [one.to(self._device) for one in tensors(arrays)]

    def train(self, values, held, seed, x):
        values = [one.requires_grad_() for one in self._tensors(values)]
        others = self._tensors(self._with_seeds(held, seed))
        number = (int(seed[0]) | int(seed[1]) << 32) >> 1
        with (
            torch.random.fork_rng(devices=self._gpus),
            keras.device(self._device),
            seeded_generator(number),
        ):
            torch.manual_seed(number)  # used by dropout
            y, (mask, held) = self._forward(values, others, *self._tensors([x]))

        def back(slope):
            if not y.requires_grad:  # all parameters it depends on are frozen
                return [torch.zeros_like(one).numpy(force=True) for one in values]
            options = {"allow_unused": True, "materialize_grads": True}
            slopes = torch.autograd.grad(y, values, *self._tensors([slope]), **options)
            return [one.numpy(force=True) for one in slopes]

        return y.numpy(force=True), mask, back, [one.numpy(force=True) for one in held]

    def use(self, values, held, x):
        others = self._tensors(self._with_seeds(held))
        with torch.no_grad(), keras.device(self._device):
            y, mask = self._output(self._tensors(values), others, *self._tensors([x]))
        return np.array(y.numpy(force=True), order="C"), mask

    def _apply(self, optimizer):
        def apply(slopes):
            with keras.device("cpu"), torch.no_grad():
                optimizer.apply(tensors(slopes))

        return apply


def tensors(arrays):
    return [torch.from_numpy(array) for array in arrays]
