"""Keras layers, each with the shape of one example.

The tests create the layers, because some make JAX start threads, which forks would lack.
"""

from functools import partial

from sparkdl.interop.keras.members import ACTIVATIONS
from tests.interop.keras.models import keras


class Deferred:
    """Keras's layers by name; calling one returns a partial for `made`."""

    def __getattr__(self, name):
        return partial(partial, getattr(keras.layers, name))


def made(layer):
    """Returns the layer of a partial, whose arguments may be partials, too."""
    inner = [made(given) if isinstance(given, partial) else given for given in layer.args]
    return layer.func(*inner, **layer.keywords)


L = Deferred()
ROW, STEPS, IMAGE, VOLUME = (6,), (7, 4), (8, 9, 3), (4, 5, 6, 2)
FIRST = {"data_format": "channels_first"}


def windows(kind, steps, image, volume=None, **options):
    """Yields rows of a layer over one, two and three axes; `kind` is its class without "1D" etc."""
    shapes = {"1D": (STEPS, steps), "2D": (IMAGE, image), "3D": (VOLUME, volume)}
    for axes, (shape, given) in shapes.items():
        if given is not None:
            layer = getattr(L, kind + axes)(**given, **options)
            yield f"{kind}{axes} {given} {options}", layer, shape


def convolutions():
    filters = {"filters": 5}
    for kind in ("Conv", "SeparableConv", "DepthwiseConv"):
        more = {} if kind == "DepthwiseConv" else filters
        deep = {"filters": 4, "kernel_size": (1, 2, 3)} if kind == "Conv" else None
        sizes = {"kernel_size": 3, **more}, {"kernel_size": (3, 2), **more}, deep
        yield from windows(kind, *sizes)
        yield from windows(kind, *sizes, padding="same", use_bias=False, activation="relu")
        yield from windows(kind, *sizes, padding="same", strides=2)
        if kind != "SeparableConv":
            yield from windows(kind, *sizes, dilation_rate=2)
    for stride in (1, 2, 3):
        for padding in ("valid", "same"):
            sizes = [{"filters": 2, "kernel_size": k} for k in (2, (4, 3), 2)]
            yield from windows("Conv", *sizes, strides=stride, padding=padding)
    twice = {"kernel_size": 2, "depth_multiplier": 2}
    yield from windows("SeparableConv", twice | filters, twice | filters)
    yield from windows("DepthwiseConv", twice, twice)
    for stride, padding in ((1, "valid"), (2, "valid"), (3, "valid"), (2, "same"), (1, "same")):
        for size in (2, 3):
            options = {"filters": 2, "kernel_size": size, "strides": stride, "padding": padding}
            for axes, shape in ((1, STEPS), (2, (3, 4, 2)), (3, (2, 3, 2, 2))):
                kind = f"Conv{axes}DTranspose"
                yield f"{kind} {size} {stride} {padding}", getattr(L, kind)(**options), shape
    yield "causal", L.Conv1D(3, 3, padding="causal", dilation_rate=2), STEPS
    yield "groups", L.Conv2D(6, 2, groups=3), IMAGE
    yield "channels first", L.Conv2D(4, 3, padding="same", **FIRST), (3, 6, 5)
    yield "softmax of images", L.Conv2D(4, 2, activation="softmax"), IMAGE


def pools():
    for kind in ("MaxPooling", "AveragePooling"):
        size = {"pool_size": 2}
        yield from windows(kind, size, size, size)
        size = {"pool_size": 3, "strides": 2, "padding": "same"}
        yield from windows(kind, size, size, size)
    for kind in ("GlobalMaxPooling", "GlobalAveragePooling"):
        yield from windows(kind, {}, {}, {})
        yield from windows(kind, {}, {}, {}, keepdims=True)
    yield "max pool channels first", L.MaxPooling2D(2, **FIRST), (3, 6, 5)
    yield "global pool channels first", L.GlobalAveragePooling2D(keepdims=True, **FIRST), (3, 6, 5)


def reshapes():
    for name, layer in {
        "flatten": L.Flatten(),
        "reshape": L.Reshape((3, -1)),
        "permute": L.Permute((3, 1, 2)),
    }.items():
        yield name, layer, IMAGE
    yield "flatten channels first", L.Flatten(**FIRST), IMAGE
    yield "flatten steps channels first", L.Flatten(**FIRST), STEPS
    yield "flatten rows channels first", L.Flatten(**FIRST), ROW
    yield "repeat", L.RepeatVector(3), ROW
    yield from windows("ZeroPadding", {"padding": (1, 2)}, {"padding": ((1, 2), (0, 3))})
    yield from windows("ZeroPadding", {"padding": 1}, {"padding": (1, 2)}, {"padding": (1, 2, 0)})
    yield from windows("Cropping", {"cropping": (1, 2)}, {"cropping": ((1, 2), (0, 3))})
    yield from windows("UpSampling", {"size": 2}, {"size": (2, 3)}, {"size": 2})
    yield "bilinear", L.UpSampling2D(2, interpolation="bilinear"), IMAGE


def dense():
    for shape in (ROW, STEPS, IMAGE):
        yield f"dense {shape}", L.Dense(5, activation="tanh"), shape
    yield "dense alone", L.Dense(5, use_bias=False), ROW
    yield "embedding", L.Embedding(11, 3), (5,)
    for name in (*ACTIVATIONS, "hard_sigmoid"):
        yield f"activation {name}", L.Activation(name), STEPS
    yield "relu layer", L.ReLU(), IMAGE
    yield "relu max", L.ReLU(max_value=0.5), IMAGE
    yield "relu slope", L.ReLU(negative_slope=0.1), IMAGE
    yield "relu threshold", L.ReLU(threshold=0.2), IMAGE
    yield "leaky relu", L.LeakyReLU(negative_slope=0.3), IMAGE
    yield "elu", L.ELU(alpha=0.7), ROW
    for axis in (-1, 1, 2, [3]):
        yield f"softmax layer {axis}", L.Softmax(axis), IMAGE
    for axis, shape in ((1, STEPS), (2, STEPS), (1, ROW), (-2, VOLUME)):
        yield f"softmax layer {axis} {shape}", L.Softmax(axis), shape
    yield "prelu rows", L.PReLU(), ROW
    yield "prelu images", L.PReLU(shared_axes=[1, 2]), IMAGE
    for layer in ("Dropout", "GaussianDropout", "AlphaDropout", "SpatialDropout1D"):
        yield layer, getattr(L, layer)(0.4), STEPS
    yield "SpatialDropout2D", L.SpatialDropout2D(0.4), IMAGE
    for shape in (ROW, STEPS, IMAGE):
        axes = (None, *[1] * len(shape))
        yield f"stochastic depth {shape}", L.Dropout(0.4, noise_shape=axes), shape
    convnext = keras.src.applications.convnext
    yield "layer scale", partial(convnext.LayerScale, 0.5, IMAGE[-1]), IMAGE
    yield "drop path", partial(convnext.StochasticDepth, 0.2), IMAGE
    yield "noise", L.GaussianNoise(0.4), ROW
    yield "rescaling", L.Rescaling(0.5, 0.1), IMAGE
    yield "identity", L.Identity(), ROW


def normalizations():
    for shape in (ROW, STEPS, IMAGE, VOLUME):
        yield f"batch norm {shape}", L.BatchNormalization(), shape
        yield f"layer norm {shape}", L.LayerNormalization(), shape
    yield "batch norm first", L.BatchNormalization(axis=1, epsilon=0.1), IMAGE
    yield "batch norm alone", L.BatchNormalization(scale=False, center=False), IMAGE
    yield "layer norm axes", L.LayerNormalization(axis=[1, 3], center=False), IMAGE
    for shape in (ROW, STEPS, IMAGE, VOLUME):
        yield f"rms norm {shape}", L.RMSNormalization(), shape
        yield f"group norm {shape}", L.GroupNormalization(groups=-1 if 3 in shape else 2), shape
        yield f"unit norm {shape}", L.UnitNormalization(), shape
        axes = list(range(1, 1 + len(shape)))
        yield f"unit norm of all {shape}", L.UnitNormalization(axes), shape
    yield "rms norm last", L.RMSNormalization(axis=3, epsilon=0.1), IMAGE
    groups = L.GroupNormalization(groups=4, axis=1, epsilon=0.1, center=False)
    yield "group norm first", groups, IMAGE
    yield "group norm alone", L.GroupNormalization(groups=1, scale=False), IMAGE
    for mean, variance, axis in ((1.0, 2.0, -1), ([1, 2, 3], [4, 0, 2.0], 3), (-1, 0.5, None)):
        layer = L.Normalization(mean=mean, variance=variance, axis=axis)
        yield f"normalization {mean} {axis}", layer, IMAGE
    numbers = {"mean": [1.0] * 6, "variance": [4.0] * 6}
    yield "normalization of rows", L.Normalization(**numbers), ROW


def recurrent():
    for kind in ("SimpleRNN", "LSTM", "GRU"):
        layer = getattr(L, kind)
        yield kind, layer(3), STEPS
        yield f"{kind} steps", layer(3, return_sequences=True, use_bias=False), STEPS
        yield f"{kind} back", layer(3, return_sequences=True, go_backwards=True), STEPS
    yield "GRU reset before", L.GRU(3, reset_after=False), STEPS
    yield "LSTM hard", L.LSTM(3, recurrent_activation="hard_sigmoid", dropout=0.2), STEPS
    for mode in ("concat", "sum", "mul", "ave"):
        layer = L.GRU(3, return_sequences=True)
        yield f"bidirectional {mode}", L.Bidirectional(layer, merge_mode=mode), STEPS
    yield "bidirectional last", L.Bidirectional(L.LSTM(3)), STEPS
    yield "time distributed", L.TimeDistributed(L.Dense(3, activation="relu")), STEPS


CASES = {
    name: (layer, shape)
    for rows in (convolutions, pools, reshapes, dense, normalizations, recurrent)
    for name, layer, shape in rows()
}
