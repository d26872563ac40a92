"""Modules train under every master as in torch on the joint batch."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DivergedError
from sparkdl.nn import Adam, Momentum, Sgd
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.workers.local import LocalWorkers
from tests.interop.torch.modules import Partitions, model, whole_lenet
from tests.training.master_table import (
    JOINT,
    MASTERS,
    WHOLE,
    assert_close,
    by_kind,
    joint_batches,
)
from tests.training.models import assert_equal
from tests.training.problems import UNEVEN

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")

EXACT = [name for name in WHOLE if MASTERS[name].same_bits]
OPTIMIZERS = {
    "Sgd": lambda p, rate: torch.optim.SGD(p, lr=rate),
    "Momentum": lambda p, rate: torch.optim.SGD(p, lr=rate, momentum=0.9),
    "Adam": lambda p, rate: torch.optim.Adam(p, lr=rate),
}


def fit(conf, master, workers, data, epochs=2, **options):
    network = Network(conf)
    network.fit(data, epochs, master, workers, **options)
    return network


def first_module(conf):
    """Returns the module with the initial values of the network."""
    torch.manual_seed(conf.seed)
    return conf.make()


def vector_of(module, conf):
    parameters = dict(module.named_parameters())
    return np.concatenate([parameters[n].detach().numpy().ravel() for n, _ in conf.parameters])


@pytest.mark.parametrize("kind", ["perceptron", "lenet", "transformer"])
@pytest.mark.parametrize("name", by_kind([name for name in JOINT if name in WHOLE]))
def test_updates_are_those_of_torch_on_the_joint_batch(name, kind, crews):
    row, workers, data = MASTERS[name], crews(2), Partitions(kind, UNEVEN)
    master = replace(row.master, **row.joint)
    optimizer = replace(row.optimizer, learning_rate=0.05)
    conf = model(kind, optimizer=optimizer)
    network = fit(conf, master, workers, data, epochs=2)
    blocks = workers.load(
        data, schema_of(conf), master.records_per_block, replace(master, seed=conf.seed)
    )
    module = first_module(conf)
    trained = [p for p in module.parameters() if p.requires_grad]
    theirs = OPTIMIZERS[type(optimizer).__name__](trained, 0.05)
    for epoch in range(2):
        for batch in joint_batches(master, blocks, workers, conf, epoch):
            x = torch.tensor(batch.features).to(getattr(torch, conf.input_type))
            loss = torch.nn.functional.cross_entropy(module(x), torch.tensor(batch.labels).long())
            theirs.zero_grad()
            loss.backward()
            theirs.step()
    assert_close(network.state.params, vector_of(module, conf))
    assert np.abs(network.state.params - vector_of(first_module(conf), conf)).max() > 0.01


@pytest.mark.parametrize("channels_last", [False, True])
def test_adam_of_one_process_is_torchs(channels_last):
    conf = model("lenet", optimizer=Adam(learning_rate=0.01), channels_last=channels_last)
    module = first_module(conf)
    theirs, ours = torch.optim.Adam(module.parameters(), lr=0.01), Network(conf).replica
    outputs = []
    data = Partitions("lenet", [40])
    [batch] = data.read(data.splits()[0])
    ours.module[0].register_forward_hook(lambda *call: outputs.append(call[-1]))
    for t in range(1, 6):
        loss = ours.step(batch, 0.01, t)
        expected = torch.nn.functional.cross_entropy(
            module(torch.tensor(batch.features)), torch.tensor(batch.labels).long()
        )
        assert loss / 40 == pytest.approx(expected.item(), rel=1e-5)
        theirs.zero_grad()
        expected.backward()
        theirs.step()
    assert_close(ours.params, vector_of(module, conf), 1e-4)
    last = {y.is_contiguous(memory_format=torch.channels_last) for y in outputs}
    assert last == {channels_last} and {y.is_contiguous() for y in outputs} == {not channels_last}


@pytest.mark.parametrize("name", by_kind(EXACT))
def test_a_seed_gives_the_same_bits_twice(name, crews):
    """Even with dropout and batch statistics."""
    data, master = Partitions("lenet", UNEVEN), MASTERS[name].master
    conf = model("lenet", whole_lenet, optimizer=Momentum(learning_rate=0.05))
    one, two = (fit(conf, master, crews(2), data).state for _ in range(2))
    assert_equal(one, two)
    other = fit(replace(conf, seed=4), master, crews(2), data).state
    assert not np.array_equal(one.params, other.params)
    assert np.abs(one.buffers[:4]).max() > 0, "running means have moved"


class Stop(Listener):
    def on_round(self, report, state):
        raise InterruptedError


@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce", "elastic"])
def test_a_resumed_fit_ends_with_the_bits_of_the_uninterrupted_one(name, crews, tmp_path):
    data, master = Partitions("lenet", UNEVEN), MASTERS[name].master
    conf = model("lenet", whole_lenet, optimizer=Momentum(learning_rate=0.05))
    whole = fit(conf, master, crews(2), data, epochs=3)
    with pytest.raises(InterruptedError):
        kept = Checkpoints(path=tmp_path, every_rounds=1)
        fit(conf, master, crews(2), data, epochs=3, checkpoints=kept, listeners=[Stop()])
    resumed = fit(conf, master, crews(2), data, epochs=3, resume=tmp_path)
    assert_equal(resumed.state, whole.state)


class Kill(Listener):
    """Kills a worker after the first round, once."""

    def __init__(self, workers):
        self.workers, self.left = workers, 1

    def on_round(self, report, state):
        if self.left:
            self.left = 0
            os.kill(self.workers._processes[0].process.pid, signal.SIGKILL)


def test_a_killed_worker_costs_time_and_no_bits(crews):
    data = Partitions("lenet", [60, 60])
    conf = model("lenet", whole_lenet, optimizer=Momentum(learning_rate=0.05))
    master = AllReduceSGD(updates_per_round=2, batch_size_per_worker=4, timeout=30.0)
    calm = fit(conf, master, crews(2), data, epochs=3)
    with LocalWorkers(2) as workers:
        network = Network(conf)
        history = network.fit(data, 3, master, workers, listeners=[Kill(workers)])
    assert history.restarts
    assert_equal(network.state, calm.state)


def test_gradients_are_announced_once_each_also_those_that_are_not_reached():
    conf, data, seen = model("transformer"), Partitions("transformer", [8]), []
    [batch] = data.read(data.splits()[0])
    after = {name: lambda name=name: seen.append(name) for name, _ in conf.params_layout.entries}
    replica = Network(conf).replica
    replica.gradient(batch, after=after)
    assert sorted(seen) == sorted(after)
    grads = conf.params_layout.views(replica.grad)
    assert not grads["module/unused"].any() and grads["module/out.weight"].any()


def test_a_loss_that_is_not_finite_ends_the_fit(crews):
    conf, data = model(optimizer=Sgd(learning_rate=1e38)), Partitions("perceptron", [40])
    with pytest.raises(DivergedError):
        fit(conf, MASTERS["all-reduce"].master, crews(2), data, epochs=20)


class Parts(torch.nn.Module):
    """A linear layer, with buffers that subclasses change."""

    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("places", torch.arange(3))


class Assigned(Parts):
    def forward(self, x):
        y = self.out(x)
        self.seen = 0.5 * self.seen + y.detach().mean(0)
        return y


class InPlace(Parts):
    def forward(self, x):
        y = self.out(x)
        self.seen.mul_(0.5).add_(y.detach().mean(0))
        return y


class Counted(Parts):
    def forward(self, x):
        self.places += 1
        return self.out(x)


class Masked(Parts):
    """Has a causal mask, a frozen layer, and a buffer that follows the batches."""

    def __init__(self):
        super().__init__()
        self.frozen = torch.nn.Linear(4, 4).requires_grad_(False)
        least = torch.finfo(torch.float32).min
        self.register_buffer("mask", torch.tensor([[0, -torch.inf], [least, 0]]))

    def forward(self, x):
        y = self.out(torch.softmax(self.mask, 1).sum(1).mean() * self.frozen(x))
        self.seen = 0.5 * self.seen + y.detach().mean(0)
        return y


@pytest.mark.parametrize(
    "name", ["averaging by the driver", "averaging by peers", "all-reduce", "local SGD"]
)
def test_masks_and_frozen_parameters_keep_their_bits(name, crews):
    conf, data = model(make=Masked), Partitions("perceptron", [30, 0, 25])
    network = fit(conf, MASTERS[name].master, crews(3), data)
    after, before = (conf.buffers_layout.views(n.state.buffers) for n in (network, Network(conf)))
    changed = {key for key in before if (before[key] != after[key]).any()}
    assert changed == {"module/seen"} and np.isinf(after["module/mask"]).any()


class Transposed(Parts):
    def forward(self, x):
        return self.out(x).T.contiguous().T


class Reentrant(Parts):
    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        x = x.requires_grad_()
        first = checkpoint(self.out, x, use_reentrant=True)
        return first + checkpoint(self.out, x, use_reentrant=True)


def gradient(make, count=2):
    """Returns (replica, batch) after `count` gradients."""
    conf, data = model(make=make), Partitions("perceptron", [8])
    [batch] = data.read(data.splits()[0])
    replica = Network(conf).replica
    for _ in range(count):
        replica.gradient(batch)
    return replica, batch


@pytest.mark.parametrize("make", [Assigned, InPlace])
def test_buffers_stay_in_the_vector_however_they_are_written(make):
    replica, batch = gradient(make)
    with torch.no_grad():
        mean = replica.module.out(torch.tensor(batch.features)).mean(0).numpy()
    np.testing.assert_allclose(replica.buffers, 1.5 * mean, rtol=1e-5)
    replica.load(replica.params, np.full(3, 7, np.float32), replica.slots)
    assert (replica.module.seen == 7).all()


@pytest.mark.parametrize(
    "make, message",
    [
        (Counted, "buffers only, got a change of places"),
        (Reentrant, "twice; checkpoint with use_re"),
    ],
)
def test_what_would_be_lost_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        gradient(make)


def test_an_output_that_lies_otherwise_in_memory_is_the_same():
    one, other = (gradient(make)[0].grad.copy() for make in (Transposed, InPlace))
    np.testing.assert_array_equal(one, other)


def test_shards_are_refused(crews):
    with pytest.raises(ConfigError, match="shard must be None with a TorchModel"):
        fit(model(), AllReduceSGD(shard="optimizer"), crews(2), Partitions("perceptron", [8]))
