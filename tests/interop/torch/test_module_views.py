"""Arrays that a forward pass assigns: kept in training, as in torch, and undone in predictions."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import ConfigError
from sparkdl.nn import Sgd
from sparkdl.training.network import Network
from tests.interop.torch.modules import Partitions, model

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit:FutureWarning", "ignore:Converting a tensor"
)
nn, RATE = torch.nn, 0.5


class Plain(nn.Module):
    """A linear layer, and buffers that subclasses read and write."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 3)
        self.register_buffer("mean", torch.ones(3))
        self.register_buffer("places", torch.tensor([2, 0, 1]))


class MaxNorm(Plain):
    """Limits weights as EEGNet does."""

    def forward(self, x):
        weight = self.out.weight
        weight.data = torch.renorm(weight.data, 2, 0, 0.2)
        return self.out(x)


class MaxNormInPlace(Plain):
    def forward(self, x):
        with torch.no_grad():
            self.out.weight.copy_(torch.renorm(self.out.weight, 2, 0, 0.2))
        return self.out(x)


class MaxNormAfterwards(Plain):
    def forward(self, x):
        y = self.out(x)
        self.out.weight.data = torch.renorm(self.out.weight.data, 2, 0, 0.2)
        return y


class Transposing(Plain):
    """Keeps the memory of an array but changes the order of its axes."""

    def __init__(self):
        super().__init__()
        self.square = nn.Parameter(torch.arange(9.0).reshape(3, 3) / 9, requires_grad=False)

    def forward(self, x):
        y = self.out(x) @ self.square
        self.square.data = self.square.data.T
        return y


class Mean(Plain):
    """Updates a mean after using it, so gradients depend on the old one."""

    def forward(self, x):
        y = self.out(x) * self.mean
        self.mean = 0.9 * self.mean + 0.1 * y.detach().mean(0)
        return y


class MeanInPlace(Plain):
    def forward(self, x):
        y = self.out(x) * self.mean.clone()
        self.mean.mul_(0.9).add_(0.1 * y.detach().mean(0))
        return y


class MeanOfData(Plain):
    def forward(self, x):
        y = self.out(x) * self.mean
        self.mean.data = 0.9 * self.mean + 0.1 * y.detach().mean(0)
        return y


class Equal(Plain):
    """Assigns an equal value to a constant."""

    def forward(self, x):
        self.places = self.places.clone()
        return self.out(x)[:, self.places]


class Turning(Plain):
    """Changes a constant in eval mode only."""

    def forward(self, x):
        y = self.out(x)[:, self.places]
        if not self.training:
            self.places = self.places.roll(1)
        return y


class TurningInPlace(Turning):
    def forward(self, x):
        y = self.out(x)[:, self.places]
        if not self.training:
            self.places.copy_(self.places.roll(1))
        return y


class Normed(Plain):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(self.out(x))


class Inferred(Plain):
    def __init__(self):
        super().__init__()
        with torch.inference_mode():
            self.register_buffer("order", torch.tensor([1, 2, 0]))

    def forward(self, x):
        return self.out(x) + self.order


class Renormed(Plain):
    """Has a table whose rows torch renormalizes whenever they are looked up."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(3, 4, max_norm=0.2)

    def forward(self, x):
        symbols = (x > 0).long() + (x > 9).long()
        return self.table(symbols).mean(1) @ self.table.weight.T


class RenormedBag(Renormed):
    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(3, 4, max_norm=0.2)

    def forward(self, x):
        symbols = (x > 0).long() + (x > 9).long()
        return self.table(symbols) @ self.table.weight.T


def scripted_norm():
    return torch.jit.script(Normed())


def scripted_mean():
    return torch.jit.script(Mean())


def scripted_table():
    return torch.jit.script(Renormed())


def traced_norm():
    return torch.jit.trace(Normed(), torch.zeros(2, 4))


SCRIPTS = [scripted_norm, scripted_mean, scripted_table, traced_norm]
TABLES = [Renormed, RenormedBag, scripted_table]
WRITE = [MaxNorm, MaxNormInPlace, MaxNormAfterwards, Transposing, Mean, MeanInPlace, MeanOfData]
WRITE += [Equal, Turning, TurningInPlace, Normed, Inferred, Renormed, RenormedBag, *SCRIPTS]


def start(make):
    """Returns (replica, batch, torch module with the same initial values)."""
    conf, data = model(make=make, optimizer=Sgd(learning_rate=RATE)), Partitions("perceptron", [8])
    [batch] = data.read(data.splits()[0])
    torch.manual_seed(conf.seed)
    return Network(conf).replica, batch, make()


@pytest.mark.parametrize("make", WRITE)
def test_it_trains_as_in_torch(make):
    replica, batch, module = start(make)
    theirs = torch.optim.SGD(module.parameters(), lr=RATE)
    for t in range(1, 4):
        loss = replica.step(batch, RATE, t)
        logits = module(torch.tensor(batch.features))
        expected = nn.functional.cross_entropy(logits, torch.tensor(batch.labels).long())
        theirs.zero_grad()
        expected.backward()
        theirs.step()
        assert loss / 8 == pytest.approx(expected.item(), rel=1e-5)
    params, buffers = replica.arrays()
    found = {name.removeprefix("module/"): array for name, array in (params | buffers).items()}
    for name, array in module.state_dict().items():
        if name in found:
            np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("make", WRITE)
def test_use_leaves_no_trace(make):
    """Repeated predictions are equal, and do not affect later training."""
    replica, batch, module = start(make)
    other, _, _ = start(make)
    with torch.no_grad():
        first = module.eval()(torch.tensor(batch.features)).numpy()
    vectors = replica.params.copy(), replica.buffers.copy()
    for _ in range(2):
        given = replica.forward(batch, ["module"])["module"]
        np.testing.assert_allclose(given, first, atol=1e-6)
    replica.load(*vectors)
    for one in (replica, other):
        one.step(batch, RATE, 1)
    outputs = [one.forward(batch, ["module"])["module"] for one in (replica, other)]
    np.testing.assert_array_equal(*outputs)
    replica.load(np.zeros_like(vectors[0]), np.full_like(vectors[1], 7))
    assert not replica.module.out.weight.any() and (replica.module.mean == 7).all()


@pytest.mark.parametrize("make", TABLES)
def test_rows_that_a_prediction_alone_looks_up_are_as_long_in_the_next_step(make):
    replica, batch, module = start(make)
    theirs = torch.optim.SGD(module.parameters(), lr=RATE)
    for t in range(1, 4):
        logits = module(torch.tensor(batch.features))
        expected = nn.functional.cross_entropy(logits, torch.tensor(batch.labels).long())
        assert replica.step(batch, RATE, t) / 8 == pytest.approx(expected.item(), rel=1e-5)
        theirs.zero_grad()
        expected.backward()
        theirs.step()
        replica.forward(Batch(columns={"features": batch.features + 20}, ids=batch.ids), ["module"])


@pytest.mark.parametrize("make", SCRIPTS)
def test_a_module_of_torchscript_is_saved(make, tmp_path):
    network, x = Network(model(make=make)), start(make)[1].features
    network.save(tmp_path / "saved")
    again = Network.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.predict(x), network.predict(x))


class Another(Plain):
    def forward(self, x):
        if self.training:
            self.out.weight = nn.Parameter(torch.renorm(self.out.weight.detach(), 2, 0, 0.2))
        return self.out(x)


class Removed(Plain):
    def forward(self, x):
        if self.training:
            self.mean = None
        return self.out(x)


class Growing(Plain):
    def forward(self, x):
        if self.training:
            self.mean = torch.cat([self.mean, self.mean])
        return self.out(x)


class Reassigned(Plain):
    def forward(self, x):
        self.places = self.places + 1
        return self.out(x)


@pytest.mark.parametrize(
    "make, message",
    [
        (Another, "got out.weight removed, or another parameter"),
        (Removed, "got mean removed"),
        (Growing, r"got mean of \(6,\) in place of \(3,\)"),
        (Reassigned, "float buffers only, got a change of places of torch.int64"),
    ],
)
def test_what_cannot_be_taken_over_is_refused(make, message):
    replica, batch, _ = start(make)
    before = replica.forward(batch, ["module"])["module"]
    with pytest.raises(ConfigError, match=message):
        replica.gradient(batch)
    np.testing.assert_array_equal(replica.forward(batch, ["module"])["module"], before)
