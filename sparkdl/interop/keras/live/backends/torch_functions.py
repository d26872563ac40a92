"""A model's functions on PyTorch."""

import keras
import numpy as np
import torch

from sparkdl.interop.keras.live.backends.base import ChangedInPlace
from sparkdl.interop.keras.live.random_state import seeded_generator


class TorchFunctions(ChangedInPlace):
    """See ModelFunctions. Tensors share the memory of the arrays that they are made of."""

    def train(self, values, held, seed, x):
        values = [one.requires_grad_() for one in tensors(values)]
        others = tensors(self._with_seeds(held, seed))
        number = (int(seed[0]) | int(seed[1]) << 32) >> 1
        with torch.random.fork_rng(devices=[]), keras.device("cpu"), seeded_generator(number):
            torch.manual_seed(number)  # dropout draws from it
            y, (mask, held) = self._forward(values, others, torch.from_numpy(x))

        def back(slope):
            if not y.requires_grad:  # all that it depends on is frozen
                return [torch.zeros_like(one).numpy() for one in values]
            options = {"allow_unused": True, "materialize_grads": True}
            slopes = torch.autograd.grad(y, values, torch.from_numpy(slope), **options)
            return [one.numpy() for one in slopes]

        return y.detach().numpy(), mask, back, [one.detach().numpy() for one in held]

    def use(self, values, held, x):
        others = tensors(self._with_seeds(held))
        with torch.no_grad(), keras.device("cpu"):
            y, mask = self._output(tensors(values), others, torch.from_numpy(x))
        return np.array(y.numpy(), order="C"), mask

    def _apply(self, optimizer):
        def apply(slopes):
            with keras.device("cpu"), torch.no_grad():
                optimizer.apply(tensors(slopes))

        return apply


def tensors(arrays):
    return [torch.from_numpy(array) for array in arrays]
