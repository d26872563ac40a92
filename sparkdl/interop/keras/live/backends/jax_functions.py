"""Functions of a model on JAX."""

import jax
import numpy as np

from sparkdl.interop.keras.live.backends.base import ModelFunctions, no_gpu


class JaxFunctions(ModelFunctions):
    """See ModelFunctions. Each function is compiled once per batch shape."""

    def __init__(self, model, gpu=None):
        super().__init__(model, gpu)
        self._train, self._use = jax.jit(self._forward_and_back), jax.jit(self._output)
        self._back = jax.jit(lambda back, slope: back(slope)[0])

    def _find_device(self, gpu):
        if gpu is None:
            return jax.local_devices(backend="cpu")[0]
        try:
            return jax.local_devices(backend="gpu")[gpu]
        except (RuntimeError, IndexError):
            raise no_gpu("jax", gpu) from None

    def train(self, values, held, seed, x):
        with jax.default_device(self._device):
            y, way, (mask, held) = self._train(values, self._with_seeds(held, seed), x)

        def back(slope):
            with jax.default_device(self._device):
                return self._back(way, slope)

        return np.asarray(y), mask, back, held

    def _forward_and_back(self, values, others, x):
        return jax.vjp(lambda values: self._forward(values, others, x), values, has_aux=True)

    def use(self, values, held, x):
        with jax.default_device(self._device):
            y, mask = self._use(values, self._with_seeds(held), x)
            return np.array(y), mask

    def stepper(self, optimizer):
        apply = jax.jit(optimizer.stateless_apply)

        def step(variables, slopes, values):
            with jax.default_device(self._device):
                return apply(variables, slopes, values)

        return step
