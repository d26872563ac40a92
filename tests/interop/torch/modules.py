"""Modules for the tests, and data they can learn."""

import numpy as np

from sparkdl.interop.torch import TorchModel
from tests.training import problems

SIDE, SYMBOLS, STEPS = 8, 7, 6


def perceptron():
    from torch import nn

    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))


def lenet(dropout=0.0, norm=False):
    """Returns a small LeNet for images of 8 x 8."""
    from torch import nn

    between = [nn.BatchNorm2d(4)] * norm
    parts = [nn.Conv2d(1, 4, 3), *between, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*parts, nn.Dropout(dropout), nn.Linear(36, 3))


def whole_lenet():
    """Returns `lenet` with buffers and random numbers."""
    return lenet(dropout=0.3, norm=True)


def transformer():
    """Returns a classifier of texts of 6 symbols."""
    import torch
    from torch import nn

    class Texts(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(SYMBOLS, 8)
            layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.places = nn.Parameter(torch.randn(STEPS, 8))
            self.unused = nn.Parameter(torch.ones(3))
            self.frozen = nn.Parameter(torch.full((8,), 0.5), requires_grad=False)
            self.out = nn.Linear(8, 3)

        def forward(self, ids):
            x = self.encoder(self.embedding(ids) * self.frozen + self.places)
            return self.out(x.mean(dim=1))

    return Texts()


MODULES = {  # name: (make, input shape, input type)
    "perceptron": (perceptron, (4,), "float32"),
    "lenet": (lenet, (1, SIDE, SIDE), "float32"),
    "transformer": (transformer, (STEPS,), "int64"),
}


def model(name="perceptron", make=None, **options):
    known, shape, kind = MODULES[name]
    return TorchModel(make=make or known, input_shape=shape, input_type=kind, seed=3, **options)


def linear(**options):
    """Returns a TorchModel of one layer, unless `options` say otherwise."""
    from torch import nn

    return TorchModel(**{"make": lambda: nn.Linear(4, 3), "input_shape": (4,)} | options)


class Partitions(problems.Partitions):
    """A source for a module of MODULES, with `counts[i]` records in partition i."""

    def __init__(self, name, counts, seed=2):
        rng, total = np.random.default_rng(seed), sum(counts)
        _, shape, kind = MODULES[name]
        ids = kind == "int64"
        x = rng.integers(0, SYMBOLS, (total, *shape)) if ids else rng.normal(size=(total, *shape))
        self.counts, self.features = counts, x.astype(np.float32)
        self.labels = (self.features.reshape(total, -1)[:, :3]).argmax(1)
