"""A model's functions on PyTorch."""

import keras
import numpy as np
import torch

from sparkdl.interop.keras.live.backends.base import ChangedInPlace
from sparkdl.interop.keras.live.variables import refuse_losses


class TorchFunctions(ChangedInPlace):
    """See ModelFunctions. Tensors share the memory of the arrays that they are made of."""

    def train(self, values, held, seed, x):
        tensors = [torch.from_numpy(value).requires_grad_() for value in values]
        others, options = self._with_seeds(held, seed), {"training": True, "return_losses": True}
        with torch.random.fork_rng(devices=[]):  # Keras's dropout has torch's own numbers
            torch.manual_seed((int(seed[0]) | int(seed[1]) << 32) >> 1)
            y, changed, losses = self._call(tensors, others, x, **options)
        refuse_losses(losses)
        held = [value.detach().numpy() for value in self._without_seeds(changed)]

        def back(slope):
            if not y.requires_grad:  # all that it depends on is frozen
                return [np.zeros(tuple(value.shape), np.float32) for value in tensors]
            slopes = torch.autograd.grad(y, tensors, torch.from_numpy(slope), allow_unused=True)
            pairs = zip(tensors, slopes, strict=True)
            return [
                np.zeros(tuple(v.shape), np.float32) if g is None else g.numpy() for v, g in pairs
            ]

        return y.detach().numpy(), back, held

    def use(self, values, held, x):
        others = self._with_seeds(held, np.zeros(2, np.uint32))
        with torch.no_grad():
            y, _ = self._call([torch.from_numpy(v) for v in values], others, x, training=False)
        return np.array(y.numpy(), order="C")

    def _call(self, tensors, others, x, **options):
        others = [torch.from_numpy(value) for value in others]
        with keras.device("cpu"):
            return self.model.stateless_call(tensors, others, torch.from_numpy(x), **options)

    def _apply(self, optimizer):
        def apply(slopes):
            with keras.device("cpu"), torch.no_grad():
                optimizer.apply([torch.from_numpy(slope) for slope in slopes])

        return apply
