"""Long-lived executors run the latest version of code that changed in a notebook."""

import threading
from contextlib import contextmanager
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import pytest
from pyspark import cloudpickle

from sparkdl import Dense, NetworkConf, Output
from sparkdl.errors import ConfigError
from sparkdl.spark.inference.model_in_use import ModelInUse
from sparkdl.spark.jobs import user_code
from sparkdl.spark.jobs.user_code import check_pickles, digest_code, pickle_value
from sparkdl.training.network import Network
from sparkdl.training.rounds.replica import replica_for

CELL = """
from sparkdl.config import dataclass
from sparkdl.layers import Layer

factor = 2.0

class Helper:
    def compute(self, x):
        return x * factor

def squash(x):
    return Helper().compute(x)

@dataclass(frozen=True, kw_only=True)
class Squash(Layer):
    def out_shape(self, in_shape):
        return in_shape

    def forward(self, params, x, run):
        return squash(x)
"""
CHANGES = {  # {statement run in the notebook: the layer's factor afterwards}
    "factor = -1.0": -1,
    "def squash(x): return x * 3.0": 3,
    "Helper.compute = lambda self, x: x * 4.0": 4,
    "Squash.forward = lambda self, params, x, run: x * 5.0": 5,
    CELL.replace("2.0", "6.0"): 6,
}
X = np.array([[1, 2], [0.5, -1], [3, 0]], np.float32)


@pytest.fixture
def notebook():
    names = {"__name__": "__main__"}
    exec(CELL, names)
    return names


@pytest.fixture
def executor(monkeypatch):
    """A context manager inside which cloudpickle knows the classes of another process."""
    own = {"_DYNAMIC_CLASS_TRACKER_BY_CLASS": WeakKeyDictionary()}
    own["_DYNAMIC_CLASS_TRACKER_BY_ID"] = WeakValueDictionary()

    @contextmanager
    def inside():
        with monkeypatch.context() as patch:
            for name, classes in own.items():
                patch.setattr(cloudpickle.cloudpickle, name, classes)
            yield

    return inside


def network_of(notebook):
    conf = NetworkConf(input_shape=(2,), layers=[notebook["Squash"](), Output(units=3)], seed=3)
    return Network(conf)


def expected(state, factor):
    z = factor * X.astype(float) @ state.params[:6].reshape(2, 3) + state.params[6:]
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def predict_there(executor, net):
    """Returns the predictions of a process that receives the network, and the conf loaded there."""
    rest, arrays = pickle_value((net.conf, net.state.without_slots()))
    with executor():
        conf, state = cloudpickle.loads(rest, buffers=arrays)
        return compute(conf, state, X), conf


def compute(conf, state, x):
    name = conf.output.name
    return ModelInUse(conf, state).forward(x, [name])[name]


@pytest.mark.parametrize("change", CHANGES)
def test_a_process_that_stays_computes_what_the_notebook_now_says(notebook, executor, change):
    net = network_of(notebook)
    np.testing.assert_allclose(predict_there(executor, net)[0], expected(net.state, 2), rtol=1e-5)
    exec(change, notebook)
    net = network_of(notebook)
    there = predict_there(executor, net)[0]
    np.testing.assert_allclose(there, expected(net.state, CHANGES[change]), rtol=1e-5)


def test_what_was_sent_before_stays_as_it_was(notebook, executor):
    net = network_of(notebook)
    _, before = predict_there(executor, net)
    exec("def squash(x): return x * 3.0", notebook)
    predict_there(executor, net)
    there = compute(before, net.state, X[:2])  # a batch size for which no program was compiled yet
    np.testing.assert_allclose(there, expected(net.state, 2)[:2], rtol=1e-5)


def test_the_same_code_is_the_same_class_whose_programs_are_kept(notebook, executor):
    net = network_of(notebook)
    (_, first), (_, second) = (predict_there(executor, net) for _ in range(2))
    assert first == second and replica_for(first) is replica_for(second)


def test_a_value_without_code_of_a_user_has_no_digest(notebook):
    conf = NetworkConf(input_shape=(2,), layers=[Dense(units=2), Output(units=3)])
    assert digest_code(pickle_value(conf)[0]) is None
    assert digest_code(pickle_value(network_of(notebook).conf)[0])


def test_values_that_cannot_travel_are_refused(capfd):
    lock = threading.Lock()
    with pytest.raises(ConfigError, match=r"must travel to the executors, .*lock"):
        check_pickles(None, lambda batch: (lock, batch))
    assert capfd.readouterr().err == ""


def test_ids_are_those_of_cloudpickle():
    assert user_code.IDS is cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS


class Guarded(WeakKeyDictionary):
    """cloudpickle's ids by class; reading them requires the lock."""

    def keys(self):
        assert user_code.IDS_LOCK.locked()
        return super().keys()

    def pop(self, *key):
        assert user_code.IDS_LOCK.locked()
        return super().pop(*key)


def test_ids_are_read_while_no_other_thread_adds_some(notebook, monkeypatch):
    monkeypatch.setattr(user_code, "IDS", Guarded())
    name = "_DYNAMIC_CLASS_TRACKER_BY_CLASS"
    monkeypatch.setattr(cloudpickle.cloudpickle, name, user_code.IDS)
    before = pickle_value(notebook["Squash"])
    exec("factor = 3.0", notebook)
    assert pickle_value(notebook["Squash"]) != before


class Meanwhile:
    """An object that is slow to pickle, while another thread pickles a class."""

    def __init__(self, kind):
        self.thread = threading.Thread(target=pickle_value, args=[kind])

    def __reduce__(self):
        if self.thread.ident is None:
            self.thread.start()
            self.thread.join(0.2)
        return int, ()


def test_two_threads_send_changed_code_by_the_same_new_id(notebook):
    kind = notebook["Squash"]
    pickle_value(kind)
    before = user_code.IDS[kind]
    exec("factor = 3.0", notebook)
    meanwhile = Meanwhile(kind)
    rest, _ = pickle_value((kind, meanwhile))
    meanwhile.thread.join()
    assert user_code.IDS[kind] != before and user_code.IDS[kind].encode() in rest
