"""TensorFlow's side: one workload in one mode, run in the tensorflow environment."""

import os
import sys
from functools import partial

import keras
import numpy as np
import tensorflow as tf

from tests.benchmarks.cpu.keras_networks import NETWORKS
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.cpu.workloads import ADAM_PARAMETERS, MOMENTUM, RATE, WORKLOADS


def make_optimizer(kind):
    if kind == "adam":
        return keras.optimizers.Adam(RATE)
    return keras.optimizers.SGD(RATE, momentum=MOMENTUM)


def training(workload, mode):
    """Returns (step, facts) of training a network."""
    x, y = workload.arrays()
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if x.ndim == 4 else x
    net, optimizer = NETWORKS[workload.network](), make_optimizer(workload.optimizer)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    count = sum(int(np.prod(v.shape)) for v in net.trainable_variables)
    if mode == "train_on_batch":
        net.compile(optimizer, loss, jit_compile=False)
        return lambda: net.train_on_batch(x, y), facts(count)
    return function(net, optimizer, loss, tf.constant(x), tf.constant(y)), facts(count)


def function(net, optimizer, loss, x, y):
    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = loss(y, net(x, training=True))
        grads = tape.gradient(value, net.trainable_variables)
        optimizer.apply(grads, net.trainable_variables)
        return value

    return lambda: step().numpy()


def update(workload, mode):
    """Returns (step, facts) of the optimizer alone, which has no train_on_batch."""
    if mode != "function":
        raise SystemExit("an optimizer alone has no train_on_batch")
    vector = keras.Variable(np.zeros(ADAM_PARAMETERS, np.float32))
    grad = tf.constant(np.random.default_rng(0).normal(0, 0.01, vector.shape).astype(np.float32))
    optimizer = make_optimizer(workload.optimizer)
    optimizer.build([vector])

    @tf.function
    def step():
        optimizer.apply([grad], [vector])
        return vector.value[0]

    return lambda: step().numpy(), facts(ADAM_PARAMETERS)


def facts(parameters):
    version = f"TensorFlow {tf.__version__}, Keras {keras.__version__}"
    return {"parameters": parameters, "version": version}


def main(name, mode):
    threads = int(os.environ["OMP_NUM_THREADS"])
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(0)
    make = update if WORKLOADS[name].network == "adam" else training
    serve(partial(make, WORKLOADS[name], mode))


if __name__ == "__main__":
    main(*sys.argv[1:])
