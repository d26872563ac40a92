"""Layers with one input and no windows: rows, sequences, noise, normalization."""

from math import prod

from sparkdl.nn import layers
from sparkdl.nn.layers.core.channels import channel_axis
from tests.nn.examples import ACTIVATIONS
from tests.oracle.options import options_of

ROWS, SEQUENCES, IMAGES, VOLUMES = (1,), (2,), (3,), (4,)
ALL = (1, 2, 3, 4)


def of(cls, **drawers):
    """Draws `cls` with options drawn by `drawers` {option: function (choices, shape)}."""

    def draw(choices, shape):
        given = {name: function(choices, shape) for name, function in drawers.items()}
        return cls(**given, **options_of(choices, cls, given))

    return draw


def number(low, high):
    return lambda choices, shape: choices.integer(low, high)


def one(*options):
    return lambda choices, shape: choices.pick(options)


def flag(choices, shape):
    return choices.chance(0.5)


def axis(choices, shape):
    return choices.integer(0, len(shape) - 1)


def arg_max(choices, shape):
    along = choices.pick((None, axis(choices, shape)))
    most = prod(shape) if along is None else shape[along]
    top_k = choices.integer(1, min(most, 3))
    return layers.ArgMax(axis=along, top_k=top_k, values=choices.chance(0.5))


def affine(choices, shape):
    options = options_of(choices, layers.Affine)
    if options.get("scale") is False:
        options.pop("shift", None)
    if choices.chance(0.3):
        options["axis"] = axis(choices, shape)
        options["axes"] = choices.integer(0, len(shape) - options["axis"])
    return layers.Affine(**options)


def layer_norm(choices, shape):
    options = options_of(choices, layers.LayerNorm)
    if choices.chance(0.4):
        axes = [i for i in range(len(shape)) if choices.chance(0.5)] or [len(shape) - 1]
        options["axes"] = tuple(axes)
    return layers.LayerNorm(epsilon=choices.pick((1e-5, 1e-3)), **options)


def group_norm(choices, shape):
    channels = shape[channel_axis(shape)]
    groups = choices.pick([n for n in range(1, channels + 1) if channels % n == 0])
    options = options_of(choices, layers.GroupNorm)
    return layers.GroupNorm(groups=groups, epsilon=choices.pick((1e-5, 1e-3)), **options)


def reshape(choices, shape):
    size, target = prod(shape), []
    for _ in range(choices.integer(0, 3)):
        part = choices.pick([d for d in range(1, size + 1) if size % d == 0])
        target.append(part)
        size //= part
    return layers.Reshape(shape=(*target, -1 if choices.chance(0.5) else size))


def permute(choices, shape):
    left, order = list(range(len(shape))), []
    while left:
        order.append(left.pop(choices.integer(0, len(left) - 1)))
    return layers.Permute(order=tuple(order))


def subset(choices, shape):
    which = None if choices.chance(0.5) else axis(choices, shape)
    length = shape[which if which is not None else (0 if len(shape) > 2 else -1)]
    start = choices.integer(0, length - 1)
    return layers.Subset(start=start, stop=choices.integer(start + 1, length), axis=which)


def recurrent(choices):
    cls = choices.pick((layers.SimpleRnn, layers.GRU, layers.LSTM, layers.GravesLSTM))
    return DRAWN[cls.type_name][1](choices, None)


def bidirectional(choices, shape):
    mode = choices.pick(("concat", "add", "mul", "average"))
    return layers.Bidirectional(layer=recurrent(choices), mode=mode)


def wrapped(cls, rank_less):
    def draw(choices, shape):
        inner = shape[1:] if rank_less else shape
        from tests.oracle.drawing import layer_for

        return cls(layer=layer_for(choices, inner, wrapped=True))

    return draw


def auto_encoder(choices, shape):
    loss = choices.pick(("mse", "sigmoid_cross_entropy", "l2"))
    options = options_of(choices, layers.AutoEncoder)
    return layers.AutoEncoder(units=choices.integer(1, 4), loss=loss, **options)


def variational(choices, shape):
    return layers.VariationalAutoencoder(
        units=choices.integer(1, 3),
        encoder=tuple(choices.integer(1, 4) for _ in range(choices.integer(1, 2))),
        decoder=(choices.integer(1, 4),),
        samples=choices.integer(1, 2),
        distribution=choices.pick(("mse", "sigmoid_cross_entropy", "gaussian")),
        **options_of(choices, layers.VariationalAutoencoder),
    )


def reconstruction(choices, shape):
    inner = auto_encoder if choices.chance(0.5) else variational
    return layers.Reconstruction(layer=inner(choices, shape))


def attention(cls):
    def draw(choices, shape):
        options = {"heads": choices.integer(1, 3)}
        if choices.chance(0.4):
            options |= {"head_size": choices.integer(1, 3), "units": choices.integer(1, 4)}
        if cls is layers.LearnedSelfAttention:
            options["queries"] = choices.integer(1, 3)
        elif choices.chance(0.4):
            options["causal"] = True
        if choices.chance(0.3):
            options["dropout"] = 0.3
        if choices.chance(0.15):
            options = {k: v for k, v in options.items() if k in ("queries", "causal", "dropout")}
            options["project"] = False
        return cls(**options, **options_of(choices, cls, options))

    return draw


def units(cls, **more):
    return of(cls, units=number(1, 5), **more)


DRAWN = {  # type: (accepted ranks of examples, function (choices, shape))
    "Dense": (ALL, units(layers.Dense)),
    "DenseTranspose": (ALL, units(layers.DenseTranspose)),
    "Activation": (ALL, of(layers.Activation, function=one(*ACTIVATIONS))),
    "ArgMax": (ALL, arg_max),
    "BatchNorm": (
        ALL,
        of(
            layers.BatchNorm,
            epsilon=one(1e-5, 1e-3),
            debias=flag,
            variance=one("biased", "unbiased"),
        ),
    ),
    "GroupNorm": (ALL, group_norm),
    "LayerNorm": (ALL, layer_norm),
    "RMSNorm": (ALL, of(layers.RMSNorm, epsilon=one(1e-5, 1e-3), scale=flag)),
    "LRN": (
        IMAGES,
        of(
            layers.LRN,
            size=one(1, 3, 5),
            alpha=one(1.0, 0.3, 5e-5),
            region=one("across_channels", "within_channel"),
        ),
    ),
    "MVN": (IMAGES, of(layers.MVN, normalize_variance=flag, across_channels=flag)),
    "Dropout": (ALL, of(layers.Dropout, learning_rate=one(0.4, 0.2))),
    "SpatialDropout": ((2, 3, 4), of(layers.SpatialDropout, learning_rate=one(0.4, 0.2))),
    "StochasticDepth": (ALL, of(layers.StochasticDepth, learning_rate=one(0.4, 0.2))),
    "AlphaDropout": (ALL, of(layers.AlphaDropout, learning_rate=one(0.3))),
    "GaussianDropout": (ALL, of(layers.GaussianDropout, learning_rate=one(0.3))),
    "GaussianNoise": (ALL, of(layers.GaussianNoise, std=one(0.5))),
    "RRelu": (ALL, of(layers.RRelu, low=one(0.2), high=one(0.9))),
    "Flatten": (ALL, of(layers.Flatten)),
    "Reshape": (ALL, reshape),
    "Permute": (ALL, permute),
    "RepeatVector": (ROWS, of(layers.RepeatVector, count=number(1, 3))),
    "StopGradient": (ALL, of(layers.StopGradient)),
    "Frozen": (ALL, wrapped(layers.Frozen, False)),
    "TimeDistributed": ((2, 3, 4), wrapped(layers.TimeDistributed, True)),
    "Bidirectional": (SEQUENCES, bidirectional),
    "LSTM": (SEQUENCES, units(layers.LSTM, return_sequences=flag)),
    "GravesLSTM": (SEQUENCES, units(layers.GravesLSTM, return_sequences=flag)),
    "GRU": (SEQUENCES, units(layers.GRU, return_sequences=flag, reset_after=flag)),
    "SimpleRnn": (SEQUENCES, units(layers.SimpleRnn, return_sequences=flag)),
    "SelfAttention": (SEQUENCES, attention(layers.SelfAttention)),
    "LearnedSelfAttention": (SEQUENCES, attention(layers.LearnedSelfAttention)),
    "PositionalEncoding": (SEQUENCES, of(layers.PositionalEncoding, period=one(1e4, 50.0))),
    "PositionEmbedding": (SEQUENCES, of(layers.PositionEmbedding)),
    "Masking": (SEQUENCES, of(layers.Masking, value=one(0.0, 0.5))),
    "LastTimeStep": (SEQUENCES, of(layers.LastTimeStep)),
    "ReverseTime": (SEQUENCES, of(layers.ReverseTime)),
    "Affine": (ALL, affine),
    "ElementWiseMultiplication": (ALL, of(layers.ElementWiseMultiplication)),
    "PRelu": (ALL, of(layers.PRelu, shared=flag)),
    "L2Normalize": (ALL, of(layers.L2Normalize, epsilon=one(1e-8, 0.1))),
    "Rescaling": (ALL, of(layers.Rescaling, scale=one(2.5, 1 / 3), offset=one(0.0, -1.0))),
    "Subset": (ALL, subset),
    "GlobalPool": ((2, 3, 4), of(layers.GlobalPool, kind=one("avg", "max", "sum", "lp"))),
    "Reduce": (
        ALL,
        of(
            layers.Reduce,
            operation=one("sum", "mean", "asum", "sumsq"),
            axis=axis,
            coefficient=one(1.0, 0.5),
        ),
    ),
    "AddedLoss": (ALL, of(layers.AddedLoss, weight=one(0.5), mean=flag)),
    "Learned": (
        ALL,
        of(
            layers.Learned,
            shape=lambda choices, shape: tuple(
                choices.integer(1, 3) for _ in range(choices.integer(1, 3))
            ),
            initializer=one("normal", "zeros"),
        ),
    ),
    "AutoEncoder": (ROWS, auto_encoder),
    "VariationalAutoencoder": (ROWS, variational),
    "Reconstruction": (ROWS, reconstruction),
}
INDEXED = {  # layers that take indices, so only first in a network
    "Embedding": ((1,), units(layers.Embedding, vocabulary_size=number(1, 5))),
    "EmbeddingSequence": (
        (1, 2),
        units(layers.EmbeddingSequence, vocabulary_size=number(2, 5), padding_id=one(None, 0, 1)),
    ),
}
