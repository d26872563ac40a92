"""Keras on JAX, and models with random weights."""

import os
from dataclasses import replace

import numpy as np

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import keras

from sparkdl.data import Batch

keras.config.disable_traceback_filtering()


def drawn(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def draw_weights(model, seed=1):
    """Sets all weights of a model to random numbers, and variances and gammas to at least 0.5."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        values = rng.normal(size=weight.shape, scale=0.5)
        positive = weight.path.endswith(("variance", "gamma"))
        weight.assign(abs(values) + 0.5 if positive else values)
    return model


def chain(*layers, shape):
    """Returns a Sequential of layers with random weights."""
    return draw_weights(keras.Sequential([keras.Input(shape), *layers]))


def answer(model, features):
    """Returns a model's outputs by one compiled program, which is faster than one per operation."""

    @jax.jit
    def call(trained, others, features):
        return model.stateless_call(trained, others, features, training=False)[0]

    trained, others = model.trainable_variables, model.non_trainable_variables
    y = call(*([weight.value for weight in some] for some in (trained, others)), features)
    return np.asarray(y) if not isinstance(y, list | tuple) else [np.asarray(one) for one in y]


def train(network, x, y, steps):
    """Trains a network of one input and one output for `steps` updates on one batch."""
    replica, state = network._load(), network.state
    batch = Batch(columns={"features": x, "labels": y}, ids=np.arange(len(x), dtype=np.uint64))
    for t in range(state.iteration, state.iteration + steps):
        replica.step(batch, network.conf.rate_at(t, 0), t + 1)
    vectors = {name: getattr(replica, name).copy() for name in ("params", "buffers", "slots")}
    network.state = replace(state, **vectors, iteration=state.iteration + steps)
