"""Inputs of modules, and what determines their initial values."""

import random

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import DataError
from sparkdl.interop.predictors import NetworkPredictor
from sparkdl.interop.torch import TorchModel, TorchPredictor, trained_module
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network
from tests.interop.torch.modules import linear

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
nn = torch.nn


class Digits(nn.Module):
    """Returns the last two digits of ids; with a table, looks up ids below 3."""

    def __init__(self, table=False):
        super().__init__()
        self.table = nn.Embedding(3, 2) if table else None
        self.factor = nn.Parameter(torch.ones(1))

    def forward(self, ids):
        return self.table(ids[:, 0]) if self.table else ids.remainder(100) * self.factor


def digits(**options):
    made = {"make": Digits, "input_shape": (2,), "input_type": "int64", "loss": "mse"}
    return Network(linear(**made | options))


LARGE = [[2**24 + 1, 2**53 + 1], [-(2**62) - 3, 7]]


@pytest.mark.parametrize(
    "ids", [np.array(LARGE), LARGE, np.array(LARGE, object).astype(np.int64)[:, ::-1]]
)
def test_integers_arrive_as_they_are(ids):
    network, expected = digits(), np.mod(np.asarray(ids), 100)
    np.testing.assert_array_equal(network.predict(ids), expected)
    run = NetworkPredictor(network).load(["output"])
    np.testing.assert_array_equal(run({"features": np.asarray(ids)})["output"], expected)
    assert NetworkPredictor(network).inputs == {"features": ("int64", (2,))}
    [batch] = schema_of(network.conf).records(zip(ids, expected, strict=True), 0)
    assert network.evaluate(batch).loss == 0
    assert network.replica.gradient(batch)[0] == 0


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float32, np.float64])
def test_whole_numbers_of_any_type_will_do(kind):
    ids = np.array([[3, 107], [255, 0]]).astype(kind)
    np.testing.assert_array_equal(digits().predict(ids), [[3, 7], [55, 0]])


STRANGE_IDS = {
    "fraction": ([[0, 1], [1.7, 0]], "record 1: features must be whole numbers.* got 1.7"),
    "below zero": ([[-0.5, 0]], "features must be whole numbers.* got -0.5"),
    "nan": ([[np.nan, 0]], "features must be whole numbers.* got nan"),
    "infinite": ([[np.inf, 0]], r"features must be below 2\^53 as float64.* got inf"),
    "not in the table": ([[0, 1], [3, 1]], "module can look up, got 0 to 3: index out of range"),
}


@pytest.mark.parametrize("name", STRANGE_IDS)
def test_what_is_no_id_is_refused(name):
    ids, message = STRANGE_IDS[name]
    network = digits(make=lambda: Digits(table=True))
    with pytest.raises(DataError, match=message):
        network.predict(np.array(ids))
    with pytest.raises(DataError, match="whole numbers|module can look up"):
        network.replica.gradient(Batch.of(np.array(ids), np.zeros((len(ids), 2), np.float32)))


class Shuffled(nn.Module):
    """Has constants drawn by numpy and Python's random."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(64, 3)
        self.register_buffer("order", torch.from_numpy(np.random.permutation(64)))
        self.shift = random.randrange(10**9)

    def forward(self, x):
        return self.out(x[:, self.order])


def test_all_random_numbers_follow_from_the_seed():
    confs = [linear(make=Shuffled, input_shape=(64,), seed=seed) for seed in (3, 3, 4, 2**63 - 1)]
    before = random.getstate(), np.random.get_state()[1].copy()
    one, same, *others = [Network(conf).replica.module for conf in confs]
    assert random.getstate() == before[0]
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])
    assert one.order.equal(same.order) and one.shift == same.shift
    assert all(not one.order.equal(m.order) and one.shift != m.shift for m in others)


def lazy():
    return nn.Sequential(nn.LazyLinear(5), nn.LazyBatchNorm1d(), nn.Tanh(), nn.LazyLinear(3))


@pytest.mark.parametrize("scheduled", [False, True])
def test_lazy_layers_have_the_shapes_of_the_input(scheduled, rng):
    own = {
        "torch_optimizer": lambda module: torch.optim.SGD(module.parameters(), lr=0.1),
        "torch_scheduler": lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 1),
    }
    conf, x = linear(make=lazy, seed=5, **own if scheduled else {}), rng.normal(size=(7, 4))
    x = torch.tensor(x.astype(np.float32))
    torch.manual_seed(5)
    module = lazy().eval()
    module(torch.zeros(2, 4))
    network = Network(conf)
    assert dict(conf.parameters)["0.weight"] == (5, 4)
    given = network.features(x.numpy(), ["module"])["module"]
    np.testing.assert_allclose(given, module(x).detach(), atol=1e-6)
    before = network.replica.params.copy()
    network.replica.step(Batch.of(x.numpy(), rng.integers(0, 3, 7)), 0.1, 1)
    assert np.abs(network.replica.params - before).max() > 0


def test_a_new_model_begins_with_what_its_function_gives_now(tmp_path):
    path = tmp_path / "weights.npy"

    def make():
        module = nn.Linear(2, 1, bias=False)
        module.weight.data[:] = torch.tensor(np.load(path))
        return module

    for value in (1, 5):
        np.save(path, np.full((1, 2), value, np.float32))
        network = Network(TorchModel(make=make, input_shape=(2,), loss="mse"))
        np.testing.assert_array_equal(network.state.params, [value, value])


class Silent(nn.Linear):
    """Its `train` and `eval` return None."""

    def __init__(self):
        super().__init__(4, 3)

    def train(self, mode=True):
        super().train(mode)

    def eval(self):
        self.train(False)


def test_modes_need_give_nothing_back(rng):
    network, x = Network(linear(make=Silent)), rng.normal(size=(5, 4)).astype(np.float32)
    network.replica.gradient(Batch.of(x, np.zeros(5, np.int64)))
    assert network.replica.module.training
    expected = network.features(x, ["module"])["module"]
    assert not network.replica.module.training
    predictor = TorchPredictor(Silent, inputs={"x": ("float32", (4,))})
    assert predictor.outputs == {"output": ("float32", (3,))}
    given = trained_module(network)(torch.tensor(x)).detach()
    np.testing.assert_allclose(given, expected, atol=1e-6)
