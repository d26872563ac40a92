"""Selects the layers of a net for a phase, a level and stages."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.origin import name_errors
from sparkdl.interop.caffe.messages.schema import NetState

PHASES = {"TRAIN": 0, "TEST": 1}


def state_of(phase, level=0, stages=()):
    """Returns a NetState; ConfigError for a phase that Caffe does not have."""
    if phase not in PHASES:
        raise ConfigError(f"phase must be one of {list(PHASES)}, got {phase!r}")
    return NetState(phase=PHASES[phase], level=level, stage=stages)


def layers_in_state(layers, places, state):
    """Returns the layers that stand in a state, and their places: two lists.

    A layer with `include` rules is there where one of them is met, one with `exclude` rules where
    none is.

    Raises
    ------
    ConfigError
        For a layer with both.
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
    """Returns whether all that a rule asks for holds."""
    return (
        (not rule.HasField("phase") or rule.phase == state.phase)
        and (not rule.HasField("min_level") or state.level >= rule.min_level)
        and (not rule.HasField("max_level") or state.level <= rule.max_level)
        and set(rule.stage) <= set(state.stage)
        and set(rule.not_stage).isdisjoint(state.stage)
    )
