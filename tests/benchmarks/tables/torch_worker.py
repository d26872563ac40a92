"""torch's side: one workload in one mode, run in the torch environment."""

import os
import sys
from functools import partial
from itertools import cycle, pairwise

import torch
from torch import nn
from torch.nn import functional as F

from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.tables.workloads import FIELDS, NUMBERS, RATE, ROWS, WORKLOADS


class TablesByField(nn.Module):
    """One table per field: ids (batch, fields) to [(batch, dimension)]."""

    def __init__(self, dimension):
        super().__init__()
        self.tables = nn.ModuleList(bag(ROWS, dimension) for _ in FIELDS)

    @staticmethod
    def prepare(ids):
        return [column.contiguous() for column in ids.T], torch.arange(len(ids))

    def forward(self, ids):
        columns, offsets = ids
        return [table(column, offsets) for table, column in zip(self.tables, columns)]

    def sums(self, ids):
        return sum(self(ids))


class OneTable(nn.Module):
    """One table for all fields, each with its own range of rows."""

    def __init__(self, dimension):
        super().__init__()
        self.table = bag(ROWS * len(FIELDS), dimension)

    @staticmethod
    def prepare(ids):
        flat = (ids + ROWS * torch.arange(len(FIELDS))).reshape(-1)
        return flat, torch.arange(len(flat)), torch.arange(0, len(flat), len(FIELDS))

    def forward(self, ids):
        flat, each, _ = ids
        rows = self.table(flat, each)
        return list(rows.reshape(-1, len(FIELDS), rows.shape[1]).unbind(1))

    def sums(self, ids):
        flat, _, bags = ids
        return self.table(flat, bags)


class Dlrm(nn.Module):
    def __init__(self, tables, workload):
        super().__init__()
        d, count = workload.dimension, len(FIELDS) + 1
        self.tables = tables(d)
        self.bottom = perceptron(NUMBERS, *workload.bottom, d, last=nn.ReLU)
        self.top = perceptron(d + count * (count - 1) // 2, *workload.hidden, 1)
        self.below = torch.tril_indices(count, count, offset=-1)

    def forward(self, ids, numbers):
        dense = self.bottom(numbers)
        vectors = torch.stack([dense, *self.tables(ids)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.below[0], self.below[1]]
        return self.top(torch.cat([dense, products], 1))


class WideDeep(nn.Module):
    def __init__(self, tables, workload):
        super().__init__()
        self.tables, self.weights = tables(workload.dimension), tables(1)
        self.numbers, self.bias = nn.Linear(NUMBERS, 1), nn.Parameter(torch.zeros(1))
        width = workload.dimension * len(FIELDS) + NUMBERS
        self.deep = perceptron(width, *workload.hidden, 1)

    def forward(self, ids, numbers):
        given = torch.cat([*self.tables(ids), numbers], 1)
        return self.deep(given) + self.weights.sums(ids) + self.numbers(numbers) + self.bias


def bag(rows, dimension):
    return nn.EmbeddingBag(rows, dimension, mode="sum", sparse=True)


def perceptron(*widths, last=nn.Identity):
    layers = [nn.Linear(*pair) for pair in pairwise(widths)]
    between = [nn.ReLU() for _ in layers[1:]] + [last()]
    return nn.Sequential(*(part for pair in zip(layers, between) for part in pair))


def optimizers(net, kind):
    """Returns two optimizers: one for sparse gradients, and a fused one for dense."""
    make = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}[kind]
    sparse = {p for m in net.modules() if isinstance(m, nn.EmbeddingBag) for p in m.parameters()}
    dense = [p for p in net.parameters() if p not in sparse]
    return make([*sparse], lr=RATE), make(dense, lr=RATE, fused=True)


NETWORKS = {"dlrm": Dlrm, "wide_deep": WideDeep}
MODES = {"field": TablesByField, "one": OneTable}


def training(workload, mode):
    """Returns (step, facts) of training a network."""
    net = NETWORKS[workload.network](MODES[mode], workload)
    batches = cycle(
        [
            (MODES[mode].prepare(torch.from_numpy(ids)), *map(torch.from_numpy, rest))
            for ids, *rest in workload.records()
        ]
    )
    steps = optimizers(net, workload.optimizer)

    def step():
        ids, numbers, labels = next(batches)
        for optimizer in steps:
            optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(net(ids, numbers), labels.float()).backward()
        for optimizer in steps:
            optimizer.step()

    bags = (m for m in net.modules() if isinstance(m, nn.EmbeddingBag))
    in_tables = sum(m.weight.numel() for m in bags)
    return step, {"parameters": sum(p.numel() for p in net.parameters()) - in_tables}


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)
    serve(partial(training, WORKLOADS[sys.argv[1]], sys.argv[2]))
