"""Keras models drawn by seed: random layers and options, two branches, shared and nested models."""

from functools import partial

import numpy as np

from tests.interop.keras.models import keras

L = keras.layers
SHAPES = (5,), (6, 4), (7, 6, 3), (3, 4, 3, 2)
ACTIVATIONS = "relu", "tanh", "sigmoid", "elu", "gelu", "silu", "softplus"
JOINS = L.Add, L.Multiply, L.Subtract, L.Average, L.Maximum, L.Minimum, L.Concatenate
MOST = 600  # numbers of an example of a tensor


class ModelDrawing:
    """Random choices, the same for a seed; its model has only what is read."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def flag(self, name):
        return {name: self.one(True, False)}

    def sizes(self, axes, low, most):
        """Returns one size for all axes, or one for each."""
        each = tuple(int(n) for n in self.rng.integers(low, most + 1, axes))
        return self.one(each[0], each if axes > 1 else each[0])

    def windows(self, name, axes, dilates=True):
        more = {}, {"strides": self.sizes(axes, 1, 3)}, {"dilation_rate": self.sizes(axes, 1, 2)}
        options = {name: self.sizes(axes, 1, 3), "padding": self.one("valid", "same")}
        return options | self.one(*more[: 2 + dilates])

    def plain_layer(self):
        """Returns a layer for examples of any rank."""
        return self.one(
            lambda: L.Dense(4, activation=self.one(None, *ACTIVATIONS), **self.flag("use_bias")),
            lambda: L.Activation(self.one(*ACTIVATIONS)),
            lambda: L.BatchNormalization(epsilon=self.one(1e-3, 0.1), **self.flag("scale")),
            lambda: L.LayerNormalization(axis=self.one(-1, 1), **self.flag("center")),
            lambda: L.Rescaling(self.one(0.5, -1.0), offset=self.one(0.0, 0.1)),
            lambda: L.LeakyReLU(negative_slope=0.2),
            lambda: L.Dropout(0.3),
        )()

    def recurrent_layer(self):
        """Returns a layer for sequences."""
        kind = self.one(L.LSTM, L.GRU, L.SimpleRNN)
        options = self.flag("return_sequences") | self.flag("use_bias")
        mode = self.one("concat", "sum", "mul", "ave")
        return self.one(
            lambda: kind(3, **options, **self.flag("go_backwards")),
            lambda: L.Bidirectional(kind(2, **options), merge_mode=mode),
            lambda: L.TimeDistributed(self.plain_layer()),
        )()

    def spatial_layer(self, axes, channels):
        """Returns a layer for sequences, images or volumes."""
        name, amounts = f"{axes}D", self.sizes(axes, 0, 2)
        groups = self.one(1, channels)
        kind = self.one("Max", "Average")
        kernel = self.windows("kernel_size", axes) | self.flag("use_bias")
        pool = self.windows("pool_size", axes, dilates=False)
        order = tuple(int(axis) + 1 for axis in self.rng.permutation(axes + 1))
        return self.one(
            lambda: getattr(L, f"Conv{name}")(2 * groups, groups=groups, **kernel),
            lambda: getattr(L, f"Conv{name}Transpose")(2, **kernel),
            lambda: getattr(L, f"{kind}Pooling{name}")(**pool),
            lambda: getattr(L, f"Global{kind}Pooling{name}")(**self.flag("keepdims")),
            lambda: getattr(L, f"ZeroPadding{name}")(amounts),
            lambda: getattr(L, f"Cropping{name}")(1),
            lambda: getattr(L, f"UpSampling{name}")(self.sizes(axes, 1, 2)),
            lambda: L.Permute(order),
            lambda: L.Flatten(),
        )()

    def layer_for(self, shape):
        """Returns a layer for a tensor of this shape."""
        axes = len(shape) - 2
        kinds = [self.plain_layer]
        kinds += [partial(self.spatial_layer, axes, shape[-1])] if axes else []
        kinds += [self.recurrent_layer] if axes == 1 else []
        return self.one(*kinds)()

    def grow(self, x, count):
        """Returns a tensor `count` layers behind x; layers that do not fit are drawn again."""
        while count:
            try:
                y = self.layer_for(x.shape)(x)
            except ValueError:  # Keras's, for windows beyond an image
                continue
            if min(y.shape[1:]) > 0 and np.prod(y.shape[1:]) <= MOST:
                x, count = y, count - 1
        return x

    def model(self):
        """Returns a model of one input: a nested model, called twice, beside another branch."""
        shape = self.one(*SHAPES)
        x, inner = keras.Input(shape), keras.Input(shape)
        nested = keras.Model(inner, self.grow(inner, 2))
        both = [nested(x), nested(L.Rescaling(0.5)(x))]
        joined = self.grow(self.one(*JOINS)()(both), 1)
        branch = self.grow(x, 2)
        return keras.Model(x, L.Concatenate()([L.Flatten()(one) for one in (joined, branch)]))
