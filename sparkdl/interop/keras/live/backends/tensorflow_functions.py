"""Functions of a model on TensorFlow."""

import numpy as np
import tensorflow as tf

from sparkdl.interop.keras.live.backends.base import ChangedInPlace, no_gpu


class TensorFlowFunctions(ChangedInPlace):
    """See ModelFunctions. Each function becomes a graph once per batch shape."""

    def __init__(self, model, gpu=None):
        super().__init__(model, gpu)
        self._train = tf.function(self._forward, autograph=False)
        self._use = tf.function(self._output, autograph=False)

    def _find_device(self, gpu):
        if gpu is None:
            return "CPU:0"
        if gpu >= len(tf.config.list_logical_devices("GPU")):
            raise no_gpu("tensorflow", gpu)
        return f"GPU:{gpu}"

    def train(self, values, held, seed, x):
        with tf.device(self._device), tf.GradientTape(watch_accessed_variables=False) as tape:
            tensors = constants(values)
            tape.watch(tensors)
            others = constants(self._with_seeds(held, seed))
            y, (mask, held) = self._train(tensors, others, tf.constant(x))

        def back(slope):
            with tf.device(self._device):
                slopes = tape.gradient(y, tensors, tf.constant(slope), unconnected_gradients="zero")
                return [tf.convert_to_tensor(one).numpy() for one in slopes]

        return y.numpy(), mask, back, [value.numpy() for value in held]

    def use(self, values, held, x):
        with tf.device(self._device):
            others = constants(self._with_seeds(held))
            y, mask = self._use(constants(values), others, tf.constant(x))
            return np.array(y), mask

    def _apply(self, optimizer):
        compiled = tf.function(optimizer.apply, autograph=False)

        def apply(slopes):
            with tf.device("CPU:0"):
                compiled(constants(slopes))

        return apply


def constants(arrays):
    return [tf.constant(array) for array in arrays]
