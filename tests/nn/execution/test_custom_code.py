"""Notebook code that is redefined after a network has compiled programs from it."""

import numpy as np
import pytest

from sparkdl import Dense, NetworkConf, Output
from sparkdl.nn.execution.custom_code import CustomCode
from sparkdl.nn.execution.replica import make_replica

CELL = """
from sparkdl.config import dataclass
from sparkdl.layers import Layer

factor = 2.0

class Helper:
    def compute(self, x):
        return x * factor

helper = Helper()

def squash(x):
    return helper.compute(x)

class Base(Layer):
    def forward(self, params, x, run):
        return (lambda x: squash(x))(x)

@dataclass(frozen=True, kw_only=True)
class Squash(Base):
    def out_shape(self, in_shape):
        return in_shape
"""
CHANGES = {  # {statement run in the notebook: the layer's factor afterwards}
    "factor = -1.0": -1,
    "def squash(x): return x * 3.0": 3,
    "Helper.compute = lambda self, x: x * 4.0": 4,
    "Base.forward = lambda self, params, x, run: x * 5.0": 5,
    "Squash.forward = lambda self, params, x, run: x * 6.0": 6,
    "helper = type('Other', (), {'compute': staticmethod(lambda x: x * 7.0)})": 7,
    "other = 8.0": 2,
}
WAYS = {  # {how squash reaches the code that reads the factor: definition of what it calls}
    "partial": "scaled = partial(base)",
    "bound method": "scaled = Bound().call",
    "cached property": "def scaled(x): return Kept().kept(x)",
    "partialmethod": "def scaled(x): return Part().part(x)",
    "default": "def scaled(x, use=base): return use(x)",
}
HELPER = """
from functools import cached_property, partial, partialmethod

def base(x):
    return x * factor

class Part:
    part = partialmethod(lambda self, x: base(x))

class Kept:
    @cached_property
    def kept(self):
        return base

class Bound:
    def call(self, x):
        return base(x)

def squash(x):
    return scaled(x)
"""
X = np.array([[1, 2], [0.5, -1], [3, 0]], np.float32)


@pytest.fixture
def notebook():
    names = {"__name__": "__main__"}
    exec(CELL, names)
    return names


def conf_of(notebook):
    return NetworkConf(input_shape=(2,), layers=[notebook["Squash"](), Output(units=3)], seed=3)


@pytest.mark.parametrize("change", CHANGES)
def test_a_loaded_replica_computes_what_the_notebook_now_says(notebook, change):
    replica = make_replica(conf_of(notebook))
    name, before = replica.conf.output.name, replica.params.copy()
    params = np.linspace(-1, 1, len(before), dtype=np.float32)
    for factor in (2, CHANGES[change]):
        replica.load(params, replica.buffers)
        z = factor * X.astype(float) @ params[:6].reshape(2, 3) + params[6:]
        odds = np.exp(z - z.max(axis=1, keepdims=True))
        expected = odds / odds.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(replica.forward(X, [name])[name], expected, rtol=1e-5)
        exec(change, notebook)


def test_code_that_stays_keeps_its_programs(notebook):
    replica = make_replica(conf_of(notebook))
    code = CustomCode(replica.conf)
    replica.forward(X, [replica.conf.output.name])
    repr(replica.conf), hash(replica.conf)
    assert not code.has_changed()
    exec("factor = 2.0", notebook)  # as if the variable's cell ran again
    assert not code.has_changed()
    exec("factor = 3.0", notebook)
    assert code.has_changed() and not code.has_changed()


def test_a_network_of_ours_has_no_code_to_look_at():
    conf = NetworkConf(input_shape=(2,), layers=[Dense(units=2), Output(units=3)])
    code = CustomCode(conf)
    assert not code._classes and not code.has_changed()


@pytest.mark.parametrize("way", WAYS)
def test_code_is_found_by_the_ways_of_python_to_wrap_it(notebook, way):
    exec(HELPER + WAYS[way], notebook)
    code = CustomCode(conf_of(notebook))
    assert not code.has_changed()
    exec("factor = 3.0", notebook)
    assert code.has_changed()


@pytest.mark.parametrize("way", ["partial", "bound method"])
def test_what_is_bound_anew_has_changed(notebook, way):
    """A rebound partial or method may hold another object or other arguments."""
    exec(HELPER + WAYS[way], notebook)
    code = CustomCode(conf_of(notebook))
    exec(WAYS[way], notebook)
    assert code.has_changed() and not code.has_changed()
