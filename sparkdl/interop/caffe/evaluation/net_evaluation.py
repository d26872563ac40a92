"""Tests of Caffe nets during training: test nets take over the trained weights by name."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.evaluation.blob_values import Blobs, blobs_of
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.inputs.minibatch import prepare_minibatch
from sparkdl.training.network import first_state
from sparkdl.training.recipe import TEST
from sparkdl.training.transfer import carry_weights


class Means:
    """Results of tests: the means of the outputs of each test net.

    Parameters
    ----------
    names : sequence of sequence of str
        The blobs of each net.
    """

    def __init__(self, names):
        self.names = names
        self.counts = [0] * len(names)
        self.sums = [dict.fromkeys(names_of_net, np.zeros(0)) for names_of_net in names]

    @property
    def examples(self):
        return int(sum(self.counts))

    @property
    def weight(self):
        """The sum of the examples' weights, as an Evaluation has it: Caffe's weigh 1 each."""
        return self.examples

    def add(self, net, examples, means):
        """Adds the means {blob: (numbers,)} of `examples` examples."""
        self.counts[net] += examples
        for name, values in means.items():
            total = self.sums[net][name]
            self.sums[net][name] = examples * values + (total if len(total) else 0)

    def merge(self, other):
        """Returns the Means of both."""
        both = Means(self.names)
        for one in (self, other):
            for net, count in enumerate(one.counts):
                if count:
                    both.add(net, count, {n: x / count for n, x in one.sums[net].items()})
        return both

    def of_net(self, net):
        """Returns {blob: mean (numbers,) float64}; {} if the net has seen no data."""
        count = self.counts[net]
        return {name: x / count for name, x in self.sums[net].items()} if count else {}

    def figures(self):
        """Returns {blob: mean, or list of means}; with several nets the names are "0/blob"."""
        figures, many = {}, len(self.names) > 1
        for net in range(len(self.names)):
            for name, values in self.of_net(net).items():
                value = values.item() if values.size == 1 else values.tolist()
                figures[f"{net}/{name}" if many else name] = value
        return figures

    @property
    def score(self):
        """None, as it is unknown which output measures a net's quality."""

    def __str__(self):
        return ", ".join(f"{name} = {value}" for name, value in self.figures().items())


@dataclass(frozen=True)
class NetEvaluator:
    """An Evaluator of the test nets' outputs instead of the loss.

    The column TEST of a record gives its test net.

    Parameters
    ----------
    trained : GraphConf
        Configuration of the trained network.
    blobs : tuple of Blobs
        Blobs of each test net.
    transforms : tuple of callable or None
        Transform of each net's data.
    sizes : tuple of int
        Minibatch size of each net.
    """

    trained: Any
    blobs: tuple[Blobs, ...]
    transforms: tuple
    sizes: tuple[int, ...]

    def evaluate(self, replica, blocks):
        means, loaded = Means([blobs.names for blobs in self.blobs]), {}
        for block in blocks:
            net = int(block.take(slice(0, 1)).columns[TEST][0])
            if net not in loaded:
                loaded[net] = self._load(net, replica)
            for start in range(0, len(block), self.sizes[net]):
                part = block.take(slice(start, start + self.sizes[net]))
                batch = prepare_minibatch(part, self.transforms[net], self.blobs[net].net.conf)
                means.add(net, len(batch), self.blobs[net].means(loaded[net], batch))
        return means

    def figures(self):
        """Returns the names of the outputs, as in `Means.figures`."""
        names = [(net, name) for net, blobs in enumerate(self.blobs) for name in blobs.names]
        return tuple(f"{net}/{name}" if len(self.blobs) > 1 else name for net, name in names)

    def counts(self, means):
        pairs = zip(means.counts, means.sums, strict=True)
        return [x for count, sums in pairs for x in (np.array([count]), *sums.values())]

    def restore(self, arrays):
        left = iter(arrays)
        means = Means([blobs.names for blobs in self.blobs])
        for net, names in enumerate(means.names):
            means.counts[net] = int(next(left)[0])
            means.sums[net] = {name: next(left) for name in names}
        return means

    def _load(self, net, replica):
        """Returns the replica of a test net with the weights of the trained network."""
        conf = self.blobs[net].net.conf
        state = carry_weights(self.trained, replica, conf, first_state(conf))
        tested = replica_of(conf, replica.backend)
        tested.load(state.params, state.buffers, state.slots)
        return tested


@lru_cache(maxsize=4)
def replica_of(conf, backend):
    return Replica(conf, backend)


def testing_of(trained, nets, sources):
    """Returns the NetEvaluator of test nets on these sources."""
    return NetEvaluator(
        trained=trained.conf,
        blobs=tuple(blobs_of(net, visible_outputs(net), "a test", net.stacked) for net in nets),
        transforms=tuple(source.transform for source in sources),
        sizes=tuple(map(batch_size, nets)),
    )


def visible_outputs(net):
    """Returns the outputs of a net, without labels that nothing reads."""
    known = {score.blob for score in net.scores} | net.blobs.keys() | net.stacked.keys()
    names = [name for name in net.outputs if name in known]
    if not names:
        raise ConfigError(f"test net {net.name!r} must have outputs to show, got none")
    return names


def batch_size(net):
    """Returns the minibatch size of a net, from its data layers."""
    sizes = [data.batch_size for data in net.data if data.batch_size]
    return sizes[0] if sizes else 1
