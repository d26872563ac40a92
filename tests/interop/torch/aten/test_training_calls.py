"""What modules call in training only: dropout is kept, and a warning names all else."""

import numpy as np
import pytest

from sparkdl import Batch, Sgd
from sparkdl.interop.torch import read_module

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
functional = torch.nn.functional


class Calls(torch.nn.Module):
    """A module that calls a function of itself and of what a linear layer returns."""

    def __init__(self, function):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6)
        self.drop, self.function = torch.nn.Dropout(0.3), function

    def forward(self, x):
        return self.function(self, self.linear(x))


def attention(module, x):
    q, rate = x.reshape(-1, 2, 3), 0.4 if module.training else 0.0
    return functional.scaled_dot_product_attention(q, q, q, dropout_p=rate).reshape(-1, 6)


def reordered(module, x):
    if module.training:
        kept = functional.dropout(x, 0.2, True)
        return kept + functional.dropout(2 * x, 0.4, False)
    whole = functional.dropout(2 * x, 0.4, False)
    return functional.dropout(x, 0.2, False) + whole


def by_rates(module, x):
    first, second = (0.2, 0.4) if module.training else (0.0, 0.0)
    return functional.dropout(functional.dropout(x, first).relu(), second)


def rates(function):
    """Returns the dropout rates of the network that is read."""
    net = read_module(Calls(function), (torch.randn(4, 6),))
    layers = [vertex.layer for vertex in net.network.conf.vertices]
    return [layer.rate for layer in layers if layer.type_name == "Dropout"]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda m, x: m.norm(m.drop(x)), [0.3]),
        (lambda m, x: functional.dropout(x, 0.2, m.training), [0.2]),
        (lambda m, x: functional.dropout(m.drop(x), 0.2, False), [0.3]),
        (attention, [0.4]),
        (reordered, [0.2]),
        (lambda m, x: functional.dropout(x, 0.5 if m.training else 0.0), [0.5]),
        (by_rates, [0.2, 0.4]),
    ],
)
def test_what_drops_out_in_training_is_what_drops_out_here(function, wanted, caplog):
    assert rates(function) == wanted
    assert "in training than" not in caplog.text


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (
            lambda m, x: m.drop(x) if m.training else x,
            "in training only it calls ['dropout of drop'",
        ),
        (lambda m, x: x if m.training else x.softmax(1), "in evaluation only it calls ['softmax']"),
        (
            lambda m, x: x * (2 if m.training else 3),
            "training only it calls ['mul']; in evaluation",
        ),
    ],
)
def test_a_branch_on_training_is_named(function, says, caplog):
    assert rates(function) == []
    assert says in caplog.text


def test_a_module_without_an_export_in_training_is_read(caplog):
    def fail(module, x):
        if module.training:
            raise ValueError("not now")
        return x.relu()

    assert rates(fail) == []
    assert "cannot be exported in training mode" in caplog.text and "not now" in caplog.text


class Still(torch.nn.Module):
    """A module whose parts stay in evaluation."""

    def __init__(self):
        super().__init__()
        self.attend = torch.nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
        self.norm, self.drop = torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)

    def train(self, mode=True):
        super().train(mode)
        for part in self.children():
            part.eval()
        return self

    def forward(self, x):
        return self.norm(self.drop(x + self.attend(x, x, x)[0]).mean(1))


class StillStacked(Still):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 4, num_layers=2, dropout=0.5, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


def test_parts_that_stay_in_evaluation_train_as_in_torch():
    """Their dropout was active, and a BatchNorm took statistics that torch did not take."""
    torch.manual_seed(0)
    module, x, labels = Still().train(), torch.randn(4, 3, 4), torch.tensor([1, 3, 0, 1])
    net = read_module(module, (x,), loss="softmax_cross_entropy", optimizer=Sgd())
    columns = {"features": x.numpy(), "labels": labels.numpy()}
    batch, replica = Batch(columns=columns, ids=np.arange(4, dtype=np.uint64)), net.network._load()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for t in range(1, 4):
        loss = functional.cross_entropy(module(x), labels)
        assert replica.step(batch, 0.1, t) == pytest.approx(4 * loss.item(), rel=1e-4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ours = replica.forward(batch, list(net.outputs))[net.outputs[0]]
    np.testing.assert_allclose(ours, module.eval()(x).detach().numpy(), atol=1e-5)


@pytest.mark.filterwarnings("ignore:The tensor attributes:UserWarning")
def test_a_stack_that_stays_in_evaluation_drops_nothing():
    net = read_module(StillStacked(), (torch.randn(4, 3, 4),))
    kinds = [vertex.layer.type_name for vertex in net.network.conf.vertices]
    assert kinds == ["LSTM", "LSTM"]


def test_the_module_keeps_its_mode():
    module = Calls(lambda m, x: m.norm(x))
    module.drop.eval()
    counted = int(module.norm.num_batches_tracked)
    read_module(module, (torch.randn(4, 6),))
    assert module.training and not module.drop.training
    assert int(module.norm.num_batches_tracked) == counted
