"""--set: which option a setting changes, and which settings are refused."""

import pytest

from sparkdl.commands.options.settings import apply
from sparkdl.errors import ConfigError


def options():
    return {"epochs": 1, "network": {"layers": [{"units": 3}, {"units": 4}]}, "spark": {}}


CASES = [
    ("epochs=3", ["epochs"], 3),
    ("output=a=b", ["output"], "a=b"),
    ("training.workers=null", ["training", "workers"], None),
    ("network.layers.1.units=5", ["network", "layers", 1, "units"], 5),
    ("network.layers.0={type: Dense}", ["network", "layers", 0], {"type": "Dense"}),
    ("network.optimizer.learning_rate=1e-3", ["network", "optimizer", "learning_rate"], 0.001),
    ("spark.config.spark.executor.memory=2g", ["spark", "config", "spark.executor.memory"], "2g"),
    ("network.input_shape=[1, 2, 3]", ["network", "input_shape"], [1, 2, 3]),
]


@pytest.mark.parametrize("setting, place, value", CASES)
def test_setting_changes_one_option(setting, place, value):
    changed = options()
    apply(changed, setting)
    for key in place:
        changed = changed[key]
    assert changed == value


def test_other_options_stay():
    changed = options()
    apply(changed, "network.layers.1.units=5")
    assert changed["network"]["layers"][0] == {"units": 3}
    assert changed["epochs"] == 1


REFUSED = [
    ("epochs", "must be key=value, such as epochs=3, got 'epochs'"),
    ("=3", "must be key=value"),
    ("epochs.more=3", "epochs is 1 and has no keys"),
    ("network.layers.2.units=5", "must end in a number from 0 to 1, got '2'"),
    ("network.layers.last.units=5", "must end in a number from 0 to 1, got 'last'"),
    ("network.layers.²=3", "must end in a number from 0 to 1, got '²'"),
    ("network.layers.9=5", "must end in a number from 0 to 1, got '9'"),
    ("epochs={", "epochs: not valid YAML: line 1, column 2: expected the node content"),
    ("epochs=010", "epochs: value must be a decimal number without leading zeros"),
]


@pytest.mark.parametrize("setting, message", REFUSED)
def test_setting_is_refused(setting, message):
    with pytest.raises(ConfigError, match=message):
        apply(options(), setting)
