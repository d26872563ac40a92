"""Nets with several losses, shared parameters and sequences: built and trained."""

from pathlib import Path

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.interop.caffe.graphs.net import load_net, read_net
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import Momentum
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.networks.document import conf_from_dict
from tests.interop.caffe.nets import SHAPES, path
from tests.nn.networks.test_graph import batch_of

DIGIT = (1, 28, 28)
N = 8


def dense(inputs, *units):
    """Returns the number of parameters of a chain of fully connected layers."""
    sizes = [inputs, *units]
    return sum(a * b + b for a, b in zip(sizes, units))


def lstm(inputs, units):
    return 4 * units * (inputs + units + 1)


COUNTS = {
    "autoencoder": dense(784, 1000, 500, 250, 30, 250, 500, 1000, 784),
    "siamese": (25 + 1) * 20 + (20 * 25 + 1) * 50 + dense(800, 500, 10, 2),
    "captions": (
        (3 * 25 + 1) * 16
        + dense(16 * 7 * 7, 32)
        + 100 * 24
        + lstm(24, 40)
        + lstm(40 + 32, 40)
        + dense(40, 100)
    ),
}
DATA = {"autoencoder": {"data": DIGIT}, "siamese": {"pair_data": (2, 28, 28)}, "captions": {}}
STATES = {"autoencoder": {"stages": ("test-on-test",)}}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("phase", ["TRAIN", "TEST"])
def test_parameters_counted_by_hand(name, phase):
    state = STATES.get(name, {}) if phase == "TEST" else {}
    conf = read_net(path(name), phase, shapes=DATA[name], **state)
    assert conf.parameter_count == COUNTS[name]
    assert conf_from_dict(conf.to_dict()) == conf


def images(conf, rng):
    return batch_of(conf, rng, N).columns


def pairs(conf, rng):
    return images(conf, rng) | {"labels": rng.integers(0, 2, (N, 1)).astype(np.float32)}


def sentences(conf, rng):
    """Returns sentences of 3 to 10 words; labels after their ends are ignored."""
    words = rng.integers(0, 100, (N, 10))
    inside = np.arange(10) < rng.integers(3, 11, (N, 1))
    return {
        "data": rng.normal(size=(N, 3, 32, 32)).astype(np.float32),
        "cont_sentence": (np.arange(10) > 0) * np.ones((N, 1), np.float32),
        "input_sentence": words.astype(np.float32),
        "labels": np.where(inside, np.roll(words, -1, 1), -1).astype(np.int32),
    }


BATCHES = {"autoencoder": images, "siamese": pairs, "captions": sentences}
RATES = {"autoencoder": 1e-4, "siamese": 1e-2, "captions": 1e-3}


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_trains(name, rng):
    conf = read_net(path(name), shapes=DATA[name], optimizer=Momentum(learning_rate=0.01), l2=1e-4)
    columns = BATCHES[name](conf, rng)
    replica, batch = Replica(conf), Batch(columns=columns, ids=np.arange(N, dtype=np.uint64))
    losses = [replica.step(batch, RATES[name], t) / N for t in range(1, 9)]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alexnet", "caffenet", "googlenet"])
def test_large_nets_train_a_step(name, rng):
    conf = read_net(path(name), shapes={"data": SHAPES[name]})
    replica, batch = Replica(conf), batch_of(conf, rng, 1)
    before = replica.params[:1000].copy()
    loss = replica.step(batch, 1e-3, 1)
    weights = sum(place.layer.loss_weight for place in conf.outputs)
    assert loss == pytest.approx(weights * np.log(1000), rel=0.5)
    assert (replica.params[:1000] != before).any()


def test_an_auto_encoder_has_two_losses_and_no_labels():
    net = load_net(path("autoencoder"), state_of("TRAIN"), DATA["autoencoder"])
    assert net.conf.label_columns == {} and net.conf.main.name == "loss"
    found = [(score.blob, score.source, score.weight) for score in net.scores]
    assert found == [("cross_entropy_loss", "loss", 1.0), ("l2_error", "l2_error", 0.0)]
    stages = state_of("TEST", stages=("test-on-train",))
    assert (
        load_net(path("autoencoder"), stages, DATA["autoencoder"])
        .data[0]
        .source.endswith("train_lmdb")
    )


def test_an_auto_encoder_with_two_losses_of_one_name(tmp_path):
    text = Path(path("autoencoder")).read_text()
    assert text.count('name: "l2_error"') == 1
    (tmp_path / "net").write_text(text.replace('name: "l2_error"', 'name: "loss"'))
    net = load_net(tmp_path / "net", state_of("TRAIN"), DATA["autoencoder"])
    assert net.conf.parameter_count == 2837314
    found = [(score.blob, score.weight) for score in net.scores]
    assert found == [("cross_entropy_loss", 1.0), ("l2_error", 0.0)]


def test_branches_of_a_siamese_net_share_all():
    conf = read_net(path("siamese"), shapes=DATA["siamese"])
    shared = {vertex.name: vertex.shares for vertex in conf.vertices if vertex.shares}
    names = ["conv1", "conv2", "ip1", "ip2", "feat"]
    assert shared == {f"{name}_p": name for name in names}


def test_captions_go_over_the_steps_and_ignore_what_is_behind_a_sentence():
    net = load_net(path("captions"), state_of("TEST"))
    shapes = {place.name: place.out_shape for place in net.conf.stack}
    assert shapes["lstm2"] == (10, 40) and shapes["predict"] == (10, 100)
    assert [score.ignore_label for score in net.scores] == [None, -1]
    assert net.conf.main.layer.loss.ignore_label == -1
    assert net.conf.main.layer.reduction == "valid"
    assert net.data[0].layer.source_class == "com.yahoo.ml.caffe.DataFrameSource"
