"""Networks on test doubles of NVIDIA's libraries train with the reference's numbers."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.nn import GRU, LSTM, NetworkConf, Output, zoo
from sparkdl.nn.execution.replica import Replica
from tests.nn.test_cuda import MLP, distance, trained
from tests.nn.zoo.test_transformer import SMALL, texts
from tests.support.cuda.compiler import available
from tests.support.tables import slow


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    if not available():
        pytest.skip("no g++ for the doubles")
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.with_libraries")


def an_mlp(backend, dtype):
    return trained(replace(MLP, dtype=dtype), backend, np.random.default_rng(0), 3)


def a_transformer(backend, dtype):
    replica = Replica(replace(zoo.transformer(**SMALL, initializer="xavier"), dtype=dtype), backend)
    return replica, [replica.step(texts(5), 0.01, t) for t in range(1, 4)]


def recurrent(backend, dtype):
    layers = [LSTM(units=6), GRU(units=5, return_sequences=False), Output(units=3)]
    conf = NetworkConf(input_shape=(7, 4), layers=layers, seed=1, dtype=dtype)
    return trained(conf, backend, np.random.default_rng(0), 3)


TRAINED = {an_mlp: "cuBLASLt", a_transformer: "cuBLASLt", recurrent: "cuDNN's RNN"}


@pytest.mark.parametrize("dtype", ["float32", slow("bfloat16")])
@pytest.mark.parametrize("train", TRAINED)
def test_it_trains(train, dtype):
    (own, losses), (other, expected) = (train(backend, dtype) for backend in ("cuda", "reference"))
    np.testing.assert_allclose(losses, expected, 1e-5 if dtype == "float32" else 1e-2)
    assert distance(own.params, other.params) < (1e-5 if dtype == "float32" else 1e-2)
    gradient, _ = own.programs(5)
    used = {step.kernel for step in gradient.steps}
    assert TRAINED[train] in used and "gemm" not in used
