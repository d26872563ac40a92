"""Properties derived from a network's options: cached, but neither compared nor pickled."""

import pickle
from copy import deepcopy
from dataclasses import fields, replace

import pytest

from sparkdl.data import Arrays
from sparkdl.nn.zoo import wide_deep
from sparkdl.training.network import Network

COMPUTED = (
    "input_shapes",
    "record_shapes",
    "id_columns",
    "bag_columns",
    "feature_masks",
    "label_masks",
    "stack",
)


@pytest.mark.parametrize("name", COMPUTED)
def test_what_follows_from_options_is_computed_once(name):
    conf = fields_conf(3)
    assert getattr(conf, name) is getattr(conf, name)


def fields_conf(n):
    """Returns a network with `n` embedding tables and a numeric input."""
    return wide_deep([f"c{i}" for i in range(n)], 4, units=(3,))


def test_what_was_computed_is_no_part_of_a_network():
    asked, fresh = fields_conf(3), fields_conf(3)
    before = pickle.dumps(fresh)
    assert all(getattr(asked, name) is not None for name in COMPUTED)
    assert asked == fresh and hash(asked) == hash(fresh)
    assert pickle.loads(pickle.dumps(asked)) == asked
    assert len(pickle.dumps(asked)) == len(before)
    assert vars(pickle.loads(pickle.dumps(asked))).keys() == {f.name for f in fields(asked)}
    wider = replace(asked, inputs={"numbers": (5,)})
    assert (asked.record_shapes["numbers"], wider.record_shapes["numbers"]) == ((4,), (5,))


@pytest.mark.slow
def test_uses_of_a_network_change_nothing_of_what_was_computed(rng):
    conf = fields_conf(3)
    before = deepcopy({name: getattr(conf, name) for name in COMPUTED[:-1]})
    x = {f"c{i}": rng.integers(0, 9, (8, 1)) for i in range(3)} | {"numbers": rng.random((8, 4))}
    network = Network(conf)
    network.fit(Arrays(x, rng.integers(0, 2, 8)), epochs=1)
    network.predict(x)
    network.evaluate((x, rng.integers(0, 2, 8)))
    assert {name: getattr(conf, name) for name in COMPUTED[:-1]} == before
