"""Draws cases: a network of a few layers, and how it runs."""

from sparkdl.nn import NetworkConf
from tests.nn.examples import CLIPPINGS, CONSTRAINTS, INITIALIZERS
from tests.oracle.case import MASKS, Case
from tests.oracle.drawing import after_all, fitting, layer_for
from tests.oracle.graphs import graph_conf
from tests.oracle.options import optimizer
from tests.oracle.outputs import output_for
from tests.oracle.plain_layers import INDEXED

BATCHES = (1, 2, 3, 17, 64)


def case(choices):
    """Draws a Case.

    Raises
    ------
    ConfigError, ShapeError
        If the package rejects the options drawn.
    """
    make = graph_conf if choices.chance(0.35) else network_conf
    conf = make(choices, network_options(choices))
    sequences = any(len(shape) == 2 for shape in conf.input_shapes.values())
    return Case(
        conf=conf,
        batch=choices.pick(BATCHES),
        seed=choices.integer(0, 999),
        mask=choices.pick(MASKS) if sequences and choices.chance(0.5) else "none",
        training=not choices.chance(0.2),
        shaken=choices.chance(0.6),
        weights=choices.chance(0.1),
    )


def network_options(choices):
    """Draws a network's options other than its layers."""
    options = {"optimizer": optimizer(choices), "seed": choices.integer(0, 99)}
    if choices.chance(0.35):
        options["dtype"] = "bfloat16"
    if choices.chance(0.1):
        options["clipping"] = choices.pick(CLIPPINGS)
    if choices.chance(0.1):
        options["constraints"] = (choices.pick(CONSTRAINTS),)
    for name in ("l1", "l2"):
        if choices.chance(0.1):
            options[name] = 0.1
    if choices.chance(0.1):
        options["initializer"] = choices.pick(INITIALIZERS)
    if choices.chance(0.3):
        options["activation"] = choices.pick(("tanh", "relu", "sigmoid"))
    return options


def example_shape(choices):
    """Draws (F,), (T, F), (C, H, W) or (C, D, H, W), each axis at least 1."""
    rank = choices.pick((1, 2, 2, 3, 3, 4))
    most = {1: 8, 2: 7, 3: 7, 4: 4}[rank]
    return tuple(choices.integer(1, most) for _ in range(rank))


def network_conf(choices, options):
    """Draws a NetworkConf."""
    shape = first = example_shape(choices)
    drawn = []
    if len(first) < 3 and choices.chance(0.06):
        drawn, shape = looked_up(choices, first)
        first = first if drawn[0].type_name != "Embedding" else (1,)
    for _ in range(choices.integer(0 if drawn else 1, 5)):
        layer = fitting(lambda shape=shape: layer_for(choices, shape))
        drawn.append(layer)
        shape = after_all(layer, shape)
    output = fitting(lambda: output_for(choices, shape))
    return NetworkConf(input_shape=first, layers=(*drawn, output), **options)


def looked_up(choices, first):
    """Returns ([a layer that takes indices], its output shape)."""
    name = "Embedding" if choices.chance(0.3) else "EmbeddingSequence"
    layer = INDEXED[name][1](choices, first)
    shape = (1,) if name == "Embedding" else first
    return [layer], after_all(layer, shape)
