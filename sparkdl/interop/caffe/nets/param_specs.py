"""Merged settings of parameters that several layers share by name."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.schema import ParamSpec

FACTORS = ("lr_mult", "decay_mult")
OPTIONS = {"InnerProduct": "inner_product_param", "Embed": "embed_param"}


def collect_specs(specs, layer):
    """Adds a layer's settings of its named parameters to `specs`, {name: ParamSpec}.

    As in Caffe, the first layer that gives lr_mult or decay_mult determines it.

    Raises
    ------
    ConfigError
        If a later layer gives a different value.
    """
    for spec in layer.param:
        if spec.name:
            known = specs.setdefault(spec.name, ParamSpec(name=spec.name))
            for factor in FACTORS:
                if spec.HasField(factor):
                    enter_factor(known, spec, factor)


def weights_apart(layers):
    """Returns the names of weights that InnerProducts share without sharing their biases."""
    names = {}
    for layer in layers:
        if layer.type in OPTIONS and layer.param and layer.param[0].name:
            names.setdefault(layer.param[0].name, []).append(names_of(layer))
    return {
        weights
        for weights, several in names.items()
        if len(several) > 1 and (len({*several}) > 1 or "" in several[0])
    }


def names_of(layer):
    """Returns the names of a layer's weights and, if it has one, its bias; "" if there is none."""
    names = [spec.name for spec in layer.param] + [""] * 2
    return tuple(names[: 1 + getattr(layer, OPTIONS[layer.type]).bias_term])


def enter_factor(known, spec, factor):
    """Adds lr_mult or decay_mult to the known settings of a parameter."""
    given = getattr(spec, factor)
    if known.HasField(factor) and getattr(known, factor) != given:
        raise ConfigError(
            f"param.{factor} of {spec.name!r} must be {getattr(known, factor):g}, as in a layer "
            f"before it that shares this parameter, got {given:g}; give it once"
        )
    setattr(known, factor, given)
