"""Networks split into consecutive stages: gradients equal the whole network's."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import (
    GRU,
    BatchNorm,
    CenterLossOutput,
    Dense,
    Frozen,
    GraphBuilder,
    NetworkConf,
    Output,
    RnnOutput,
    zoo,
)
from sparkdl.nn.execution.batch_tensors import identity_inputs
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.stage_program import GRADIENT, MASK, VALUE, check_first_part
from sparkdl.nn.execution.stage_replica import StageReplica
from sparkdl.nn.inputs.columns import (
    WEIGHTS,
    columns_of,
    label_mask_of,
    mask_of,
    weights_of_labels,
)
from sparkdl.nn.networks.stage import Stage
from sparkdl.training.masters.pipeline_parallel.cuts import best_edges, cut_places
from tests.nn.example_networks import lenet, mixed
from tests.nn.networks.test_graph import batch_of, residual
from tests.support.tables import slow


def masked():
    layers = [GRU(units=4), Dense(units=3, activation="tanh"), GRU(units=5), RnnOutput(units=2)]
    return NetworkConf(input_shape=(6, 3), layers=layers, seed=2)


def centers():
    """Returns a network of two outputs; the first one's gradient depends on buffers it updates."""
    build = GraphBuilder(x=(3,))
    build.add(Dense(units=4), "x", name="dense")
    build.add(CenterLossOutput(units=2), "dense", name="early")
    build.add(Output(units=2), "dense", name="late")
    return build.conf()


def frozen():
    """Returns a network whose gradient reads running statistics that no step updates."""
    layers = [
        Dense(units=4, activation="tanh"),
        Frozen(layer=BatchNorm()),
        Dense(units=3, activation="tanh"),
        Output(units=2),
    ]
    return NetworkConf(input_shape=(3,), layers=layers, seed=2)


def small(conf, **shapes):
    return replace(conf, inputs=shapes)


NETWORKS = {
    "lenet": lenet,
    "batch statistics, dropout, penalties": mixed,
    "several inputs and outputs": residual,
    "frozen statistics": frozen,
    "outputs with weights": residual,
    "masks and weights": masked,
    "centers of classes": centers,
    "resnet18": lambda: small(zoo.resnet18(classes=5), features=(3, 32, 32)),
    "char_lstm": lambda: zoo.char_lstm(characters=7, units=8, steps=5),
    "transformer": lambda: zoo.transformer(symbols=9, steps=6, width=8, depth=2, heads=2),
}


def examples(name, conf):
    batch = batch_of(conf, np.random.default_rng(5), n=6)
    if "transformer" in name:
        batch.columns["features"][...] = np.random.default_rng(6).integers(0, 9, (6, 6))
    if "outputs with weights" in name:
        rng = np.random.default_rng(7)
        names = weights_of_labels(conf).values()
        assert len(names) > 1
        more = {name: rng.random(6).astype(np.float32) for name in names}
        return replace(batch, columns=batch.columns | more)
    if "masks" in name:
        mask = (np.arange(6) < np.array([6, 2, 5, 6, 1, 3])[:, None]).astype(np.float32)
        weights = np.linspace(0.5, 2, 6).astype(np.float32)
        more = {"mask": mask, "labels_mask": mask[:, ::-1] * mask, WEIGHTS: weights}
        return replace(batch, columns=batch.columns | more)
    return batch


def whole_and_stages(conf, edges, backend, recompute=False):
    whole = Replica(conf, backend)
    stages = [Stage(conf, start, stop) for start, stop in pairwise(edges)]
    slots = [stage.section.slots_in(whole.slots) for stage in stages]
    return whole, [
        StageReplica(
            conf,
            stage,
            whole.params[stage.section.part],
            np.concatenate([*own.values()]) if own else np.empty(0, np.float32),
            whole.buffers,
            backend,
            recompute,
        )
        for stage, own in zip(stages, slots, strict=True)
    ]


def feeds_of(conf, stage, batch, arrays, scale):
    """Returns a stage's inputs for a batch, given the outputs of the stage before."""
    columns = columns_of(conf, batch)
    if stage.start == 0:
        arrays = {VALUE + name: columns[c] for c, name in conf.feature_columns.items()}
        masks = {MASK + name: mask_of(c) for c, name in conf.feature_columns.items()}
        arrays |= {name: columns[c] for name, c in masks.items() if c in columns}
    labels = [*stage.label_columns, *map(label_mask_of, stage.label_columns), WEIGHTS]
    labels += [f"{column}_weights" for column in stage.label_columns]
    arrays |= {name: columns[name] for name in labels if name in columns}
    return arrays | identity_inputs(batch.ids, 3) | {"scale": scale}


def passed(outputs):
    return {n: np.array(x) for n, x in outputs.items() if n.startswith((VALUE, MASK))}


def gradients(outputs):
    return {n: np.array(x) for n, x in outputs.items() if n.startswith(GRADIENT)}


def train(conf, replicas, batches, scale):
    """Returns the loss of all batches, run forward in order and backward in reverse order."""
    loss, under_way = 0.0, []
    for batch in batches:
        arrays, programs = {}, []
        for replica in replicas:
            feeds = feeds_of(conf, replica.stage, batch, arrays, scale)
            program, outputs = replica.begin(feeds)
            programs.append(program)
            loss += float(outputs.get("loss", 0.0))
            arrays = passed(outputs)
        under_way.append(programs)
    for programs in reversed(under_way):
        arrays = {}
        for replica, program in reversed([*zip(replicas, programs, strict=True)]):
            arrays = gradients(replica.finish(program, arrays))
    return loss


WAYS = [(name, "auto") for name in NETWORKS]
WAYS += [(name, "reference") for name in NETWORKS if name != "resnet18"]  # which takes minutes


RECOMPUTED = "batch statistics, dropout, penalties", "frozen statistics", "masks and weights"
QUICK = {("several inputs and outputs", "auto"), ("masks and weights", "reference")}  # of WAYS


@pytest.mark.parametrize(
    "name, backend",
    [way if way in QUICK else slow(*way) for way in WAYS],
)
def test_stages_have_the_gradient_of_the_whole_network(name, backend):
    conf = NETWORKS[name]()
    cuts = [[0, cut, len(conf.stack)] for cut in cut_places(conf)]
    ways = cuts if len(cuts) < 8 else [cuts[len(cuts) // 2]]
    for edges in [*ways, best_edges(conf, 3) or ways[0]]:
        batch = examples(name, conf)
        batches = [batch.take(np.arange(4)), batch.take(np.arange(4, 6))]
        whole, replicas = whole_and_stages(conf, edges, backend)
        loss, grad = 0.0, np.zeros_like(whole.params)
        for part in batches:
            loss += whole.gradient(part, epoch=3)[0]
            grad += whole.grad * (len(part) / 6)
        assert train(conf, replicas, batches, 1 / 6) == pytest.approx(loss, rel=1e-5)
        found = np.concatenate([replica.grad for replica in replicas])
        assert np.abs(found - grad).max() <= 1e-5 * np.abs(grad).max(), edges
        for layer, part in conf.buffers_layout.split_by_layer.items():
            own = [r for r in replicas if layer in {place.name for place in r.stage.stack}]
            assert np.allclose(own[0].buffers[part], whole.buffers[part], rtol=1e-5, atol=1e-6)
        for replica in replicas:
            replica.grad[...] = grad[replica.section.part]
            replica.apply(replica.section.rate_at(1, 3), 1)
        whole.grad[...] = grad
        whole.apply(conf.rate_at(1, 3), 1)
        params = np.concatenate([replica.params for replica in replicas])
        assert np.array_equal(params, whole.params)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECOMPUTED)
def test_activations_may_be_computed_again(name):
    conf = NETWORKS[name]()
    for cut in cut_places(conf):
        batch = examples(name, conf)
        batches = [batch.take(np.arange(3)), batch.take(np.arange(3, 6))]
        ways = [
            whole_and_stages(conf, [0, cut, len(conf.stack)], "auto", recompute)[1]
            for recompute in (False, True)
        ]
        losses = [train(conf, replicas, batches, 1 / 6) for replicas in ways]
        assert losses[0] == losses[1]
        for one, two in zip(*ways, strict=True):
            assert np.allclose(one.grad, two.grad, rtol=1e-5, atol=1e-7)
            assert np.array_equal(one.buffers, two.buffers)
    programs = {id(program) for run in two._spare.values() for program in run}
    assert len(programs) == 2, "the last stage has one for each microbatch"


def test_the_way_back_must_not_read_what_others_have_updated():
    conf = centers()
    _, (replica, _) = whole_and_stages(conf, [0, 2, 3], "auto", recompute=True)
    batch = batch_of(conf, np.random.default_rng(1))
    with pytest.raises(ConfigError, match="'early/centers' must not be read in the backward pass"):
        replica.begin(feeds_of(conf, replica.stage, batch, {}, 0.25))


def test_what_goes_forward_must_not_wait_for_what_comes_back():
    program = SimpleNamespace(early_outputs={"loss"})
    check_first_part(program, {"loss": None})
    with pytest.raises(ConfigError, match="layer 'a/centers' must not update what its gradient"):
        check_first_part(program, {"loss": None, "next:a/centers": None})


@pytest.mark.slow
def test_batches_of_other_sizes_have_programs_of_their_own():
    conf = lenet()
    _, (replica,) = whole_and_stages(conf, [0, len(conf.stack)], "auto")
    batch = batch_of(conf, np.random.default_rng(1), n=12)
    for n in range(1, 12):
        assert train(conf, [replica], [batch.take(np.arange(n))], 1 / n) > 0
    assert len(replica._spare) == 8
