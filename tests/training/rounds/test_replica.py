"""A process's replica and its threads."""

import pytest
from threadpoolctl import threadpool_info

from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from sparkdl.training.rounds.replica import limit_threads, limit_to, replica_for


@pytest.fixture
def conf():
    layers = [Dense(units=3), Output(units=2)]
    return NetworkConf(input_shape=(2,), layers=layers, optimizer=Sgd(learning_rate=0.1))


def test_equal_configurations_have_one_replica(conf):
    assert replica_for(conf, "cpu", "reference") is replica_for(conf, "cpu", "reference")


@pytest.mark.parametrize("value", ["1", "1,4"])
def test_products_take_the_threads_of_the_task(monkeypatch, value):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    limit_to.cache_clear()
    with limit_threads():
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
