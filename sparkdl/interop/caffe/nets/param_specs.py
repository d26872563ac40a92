"""Merged settings of parameters that several layers share by name."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.schema import ParamSpec

FACTORS = ("lr_mult", "decay_mult")


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


def enter_factor(known, spec, factor):
    """Adds lr_mult or decay_mult to the known settings of a parameter."""
    given = getattr(spec, factor)
    if known.HasField(factor) and getattr(known, factor) != given:
        raise ConfigError(
            f"param.{factor} of {spec.name!r} must be {getattr(known, factor):g}, as in a layer "
            f"before it that shares this parameter, got {given:g}; give it once"
        )
    setattr(known, factor, given)
