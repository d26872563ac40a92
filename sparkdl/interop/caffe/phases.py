"""Which layers of a net are there in a phase, at a level and in stages."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.schema import NetState

PHASES = {"TRAIN": 0, "TEST": 1}


def state_of(phase, level=0, stages=()):
    """A NetState; ConfigError for a phase that Caffe does not have."""
    if phase not in PHASES:
        raise ConfigError(f"phase must be one of {list(PHASES)}, got {phase!r}")
    return NetState(phase=PHASES[phase], level=level, stage=stages)


def filtered(net, state):
    """The layers of `net` that stand in `state`, a list.

    A layer with `include` rules is there where one of them is met, one with `exclude` rules where
    none is.

    Raises
    ------
    ConfigError
        For a layer with both.
    """
    return [layer for layer in net.layer if stands(layer, state)]


def stands(layer, state):
    if layer.include and layer.exclude:
        raise ConfigError(f"layer {layer.name!r} must have include or exclude rules, got both")
    if layer.include:
        return any(met(rule, state) for rule in layer.include)
    return not any(met(rule, state) for rule in layer.exclude)


def met(rule, state):
    """Whether all that a rule asks for holds."""
    return (
        (not rule.HasField("phase") or rule.phase == state.phase)
        and (not rule.HasField("min_level") or state.level >= rule.min_level)
        and (not rule.HasField("max_level") or state.level <= rule.max_level)
        and set(rule.stage) <= set(state.stage)
        and set(rule.not_stage).isdisjoint(state.stage)
    )
