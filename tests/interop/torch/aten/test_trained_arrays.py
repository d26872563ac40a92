"""Arrays that torch trains otherwise than our layers: refused, or copied with a warning."""

from copy import deepcopy

import numpy as np
import pytest

from sparkdl import Batch, Sgd
from sparkdl.errors import UnsupportedError
from sparkdl.interop.torch import read_module
from tests.interop.torch.aten.modules import functional

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
nn = torch.nn


def of_weight(shape, run, **parts):
    """Returns a module with an additional parameter "weight"."""
    module = functional(parts, run)
    module.weight = nn.Parameter(torch.rand(shape) + 0.5)
    return module


def in_part():
    module = nn.Linear(4, 3)
    module.bias.requires_grad_(False)
    return module


def tied():
    module = functional(
        {"ids": nn.Embedding(7, 4), "head": nn.Linear(4, 7)}, lambda m, x: m.head(m.ids(x))
    )
    module.head.weight = module.ids.weight
    return module


def own_biases():
    parts = {"one": nn.Linear(4, 4), "two": nn.Linear(4, 4)}
    module = functional(parts, lambda m, x: m.two(m.one(x).tanh()))
    module.two.weight = module.one.weight
    return module


def own_factors():
    parts = {"one": nn.BatchNorm1d(4), "two": nn.BatchNorm1d(4)}
    module = functional(parts, lambda m, x: m.two(m.one(x)))
    module.two.running_mean = module.one.running_mean
    return module


def halves(m, x):
    copy = m.weight.clone()
    return LINEAR(x, copy[:3]) + LINEAR(x, copy[3:])


def overlapping():
    return of_weight((5, 4), lambda m, x: LINEAR(x, m.weight[:3]) + LINEAR(x, m.weight[1:4]))


LINEAR = nn.functional.linear
ROWS, STEPS, IDS = (torch.rand(shape) for shape in ((2, 4), (2, 3, 4), (2, 3)))
REFUSED = {  # name: (module, input, words)
    "in part": (in_part, ROWS, "training only weight of weight, bias"),
    "computed": (
        lambda: of_weight((3, 4), lambda m, x: LINEAR(x, m.weight * m.weight)),
        ROWS,
        r"weight that is computed from parameters is not supported; .* requires_grad_\(False\)",
    ),
    "an output of parameters alone": (
        lambda: of_weight((4,), lambda m, x: (x * m.weight, m.weight.exp())),
        ROWS,
        "an output that is the same for all examples",
    ),
    "an output of each example": (
        lambda: of_weight((1, 4), lambda m, x: (x[:, :1].expand(-1, 4), x * m.weight)),
        ROWS,
        "the operation expand is not supported",
    ),
    "rounded": (
        lambda: of_weight((4,), lambda m, x: torch.div(x, 3, rounding_mode="floor") * m.weight),
        ROWS,
        "rounding_mode='floor' is not supported",
    ),
    "of two": (
        lambda: of_weight((3, 4), lambda m, x: LINEAR(x, torch.cat([m.weight, m.weight]))),
        ROWS,
        "cat of a parameter, whose result would be trained in its place",
    ),
    "expanded": (
        lambda: of_weight((1, 4), lambda m, x: x + m.weight.expand(3, 4)),
        STEPS,
        "expand of a parameter",
    ),
    "looked up twice": (
        lambda: of_weight(
            (2, 4), lambda m, x: x + nn.functional.embedding(torch.tensor([0, 1, 1]), m.weight)
        ),
        STEPS,
        "embedding of a parameter",
    ),
    "computed and moved": (
        lambda: of_weight((4, 3), lambda m, x: LINEAR(x, m.weight.exp().T)),
        ROWS,
        "of a parameter that is computed with is not supported",
    ),
    "statistics": (own_factors, ROWS, "running_mean that two layers update"),
    "padding looked up": (
        lambda: functional(
            {"part": nn.Embedding(2, 4, padding_idx=0)},
            lambda m, x: x + m.part(torch.zeros(3, dtype=torch.long)),
        ),
        STEPS,
        "embedding of a parameter",
    ),
    "row that does not broadcast": (
        lambda: functional(
            {"part": nn.Embedding(2, 4)},
            lambda m, x: x + m.part(torch.zeros(3, dtype=torch.long)).reshape(4, 3).T,
        ),
        STEPS,
        "embedding of a parameter",
    ),
}
COPIED = {  # name: (module, input, parameter)
    "tied": (tied, IDS.long(), "ids.weight"),
    "own biases": (own_biases, ROWS, "one.weight"),
    "overlapping": (overlapping, ROWS, "weight"),
    "copied parts": (lambda: of_weight((6, 4), halves), ROWS, "weight"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_train_otherwise_is_refused(name):
    make, x, words = REFUSED[name]
    with pytest.raises(UnsupportedError, match=words):
        read_module(make(), (x,))


def warned(caplog):
    """Returns the logged warnings, without torch's other messages."""
    return [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]


@pytest.mark.parametrize("name", COPIED)
def test_of_what_layers_have_in_different_ways_they_have_copies(name, caplog):
    make, x, parameter = COPIED[name]
    net = read_module(make(), (x,))
    assert len([place for place in net.network.conf.stack if place.param_shapes]) == 2
    [line] = warned(caplog)
    assert line.startswith(f"{parameter}: ")
    assert line.endswith("become copies, which are trained separately")


def test_copies_train_as_a_module_that_has_two_parameters():
    module, labels = own_biases(), torch.tensor([1, 3])
    net = read_module(module, (ROWS,), loss="softmax_cross_entropy", optimizer=Sgd())
    module.two.weight = nn.Parameter(module.one.weight.detach().clone())
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    columns = {"features": ROWS.numpy(), "labels": labels.numpy()}
    batch, replica = Batch(columns=columns, ids=np.arange(2, dtype=np.uint64)), net.network._load()
    for t in range(1, 4):
        loss = nn.functional.cross_entropy(module(ROWS), labels)
        assert replica.step(batch, 0.1, t) == pytest.approx(2 * loss.item(), rel=1e-4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ours = replica.forward(batch, list(net.outputs))[net.outputs[0]]
    np.testing.assert_allclose(ours, module(ROWS).detach().numpy(), atol=1e-5)


def test_modules_of_double_numbers_share_what_torch_shares(caplog):
    layer = nn.Linear(4, 4)
    shared, apart = [layer, layer], [deepcopy(layer) for _ in range(6)]
    net = read_module(nn.Sequential(*shared, *apart).double(), (ROWS.double(),))
    assert [place.shares for place in net.network.conf.vertices] == [None, "0", *[None] * 6]
    assert not warned(caplog)


@pytest.mark.parametrize("name", ["tied", "overlapping", "computed", "expanded"])
def test_what_is_not_trained_is_read(name):
    make, x, _ = (REFUSED | COPIED)[name]
    net = read_module(make().requires_grad_(False), (x,))
    kinds = {type(place.layer).__name__ for place in net.network.conf.stack if place.param_shapes}
    assert kinds == {"Frozen"}
