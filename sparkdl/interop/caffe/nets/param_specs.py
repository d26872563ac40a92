"""What layers that share a parameter by its name say of it together."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.schema import ParamSpec

FACTORS = ("lr_mult", "decay_mult")


def collect_specs(specs, layer):
    """Enters what a layer says of its parameters with names in `specs`, {name: ParamSpec}.

    As in Caffe each of lr_mult and decay_mult is that of the first layer that gives it.

    Raises
    ------
    ConfigError
        If a later layer gives another number.
    """
    for spec in layer.param:
        if spec.name:
            known = specs.setdefault(spec.name, ParamSpec(name=spec.name))
            for factor in FACTORS:
                if spec.HasField(factor):
                    enter_factor(known, spec, factor)


def enter_factor(known, spec, factor):
    """Enters lr_mult or decay_mult in what is known of a parameter."""
    given = getattr(spec, factor)
    if known.HasField(factor) and getattr(known, factor) != given:
        raise ConfigError(
            f"param.{factor} of {spec.name!r} must be {getattr(known, factor):g}, as in a layer "
            f"before it that shares this parameter, got {given:g}; give it once"
        )
    setattr(known, factor, given)
