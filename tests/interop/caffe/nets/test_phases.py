"""Rules that include layers by phase, level and stage."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import layers_in_state, state_of

# rules of a layer: the (phase, level, stages) that include it, and some that do not
RULES = {
    "": ([("TRAIN", 0, ()), ("TEST", 3, ("a",))], []),
    "include { phase: TRAIN }": ([("TRAIN", 0, ())], [("TEST", 0, ())]),
    "exclude { phase: TRAIN }": ([("TEST", 0, ())], [("TRAIN", 0, ())]),
    "include { min_level: 2 max_level: 4 }": (
        [("TRAIN", 2, ()), ("TEST", 4, ())],
        [("TRAIN", 1, ()), ("TRAIN", 5, ())],
    ),
    "include { stage: 'a' stage: 'b' }": ([("TEST", 0, ("a", "b", "c"))], [("TEST", 0, ("a",))]),
    "include { stage: 'a' } include { stage: 'b' }": ([("TEST", 0, ("b",))], [("TEST", 0, ())]),
    "include { phase: TEST not_stage: 'a' }": ([("TEST", 0, ("b",))], [("TEST", 0, ("a", "b"))]),
    "exclude { stage: 'a' } exclude { phase: TEST }": (
        [("TRAIN", 0, ("b",))],
        [("TRAIN", 0, ("a",)), ("TEST", 0, ())],
    ),
}


def there(net, *state):
    """Returns the layers of a net in a state."""
    return layers_in_state(net.layer, ["net, line 1"] * len(net.layer), state_of(*state))[0]


@pytest.mark.parametrize("rules", RULES)
def test_where_a_layer_stands(rules):
    net = parse_text(f"layer {{ name: 'one' {rules} }}", NetParameter)
    inside, outside = RULES[rules]
    assert all(len(there(net, *state)) == 1 for state in inside)
    assert all(len(there(net, *state)) == 0 for state in outside)


def test_both_kinds_of_rules():
    net = parse_text("layer { name: 'one' include { } exclude { } }", NetParameter)
    with pytest.raises(ConfigError, match="line 1: a layer must have include or exclude"):
        there(net, "TRAIN")


def test_an_unknown_phase():
    with pytest.raises(ConfigError, match="phase must be one of"):
        state_of("train")
