"""Selection of a net's layers by phase, level and stages."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.origin import name_errors
from sparkdl.interop.caffe.messages.schema import NetState

PHASES = {"TRAIN": 0, "TEST": 1}


def state_of(phase, level=0, stages=()):
    """Returns a NetState; raises ConfigError for an unknown phase."""
    if phase not in PHASES:
        raise ConfigError(f"phase must be one of {list(PHASES)}, got {phase!r}")
    return NetState(phase=PHASES[phase], level=level, stage=stages)


def layers_in_state(layers, places, state):
    """Returns two lists: the layers that belong to a state, and their places.

    A layer with `include` rules belongs to it if one is met, a layer with `exclude` rules if none
    is.

    Raises
    ------
    ConfigError
        If a layer has both.
    """
    included = []
    for layer, place in zip(layers, places, strict=True):
        with name_errors(place):
            if is_in_state(layer, state):
                included.append((layer, place))
    return [layer for layer, _ in included], [place for _, place in included]


def is_in_state(layer, state):
    if layer.include and layer.exclude:
        raise ConfigError("a layer must have include or exclude rules, got both")
    if layer.include:
        return any(is_met(rule, state) for rule in layer.include)
    return not any(is_met(rule, state) for rule in layer.exclude)


def is_met(rule, state):
    """Returns whether all conditions of a rule hold."""
    return (
        (not rule.HasField("phase") or rule.phase == state.phase)
        and (not rule.HasField("min_level") or state.level >= rule.min_level)
        and (not rule.HasField("max_level") or state.level <= rule.max_level)
        and set(rule.stage) <= set(state.stage)
        and set(rule.not_stage).isdisjoint(state.stage)
    )
