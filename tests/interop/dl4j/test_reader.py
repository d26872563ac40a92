"""Models saved by Deeplearning4j: the same outputs, and the same next update."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import ConfigError, DataError, UnsupportedError
from sparkdl.interop.dl4j import read_dl4j
from sparkdl.interop.predictors.choice import choose_predictor
from tests.interop.dl4j.saved_models import (
    NEW,
    OLD,
    answers,
    arrays,
    batch_columns,
    changed,
    path_of,
    read,
)
from tests.support.tables import for_all


def outputs(net, features):
    found = net.run(features)
    return found if isinstance(found, list) else [found]


def check_outputs(net, features, expected, atol=1e-5):
    for ours, theirs in zip(outputs(net, features), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=atol)


def train_once(network, columns):
    """Performs the next update, on one batch."""
    replica, state = network._load(), network.state
    ids = np.arange(len(next(iter(columns.values()))), dtype=np.uint64)
    rate = network.conf.rate_at(state.iteration, 0)
    replica.step(Batch(columns=columns, ids=ids), rate, state.iteration + 1)
    vectors = {name: getattr(replica, name).copy() for name in ("params", "buffers", "slots")}
    network.state = replace(state, **vectors, iteration=state.iteration + 1)


@pytest.mark.slow
def test_outputs_are_those_of_deeplearning4j():
    for_all((*NEW, *OLD), lambda name: check_outputs(read(name), *given_and_expected(name)))


def given_and_expected(name):
    return batch_columns(name)[0], answers(name, "out")


@pytest.mark.slow
def test_the_next_update_is_that_of_deeplearning4j():
    def check(name):
        net, after = read(name), read(name, "_next")
        features, columns = batch_columns(name)
        train_once(net.network, columns)
        check_outputs(net, features, answers(name, "next"))
        ours, theirs = net.network.state, after.network.state
        for kind in ("params", "buffers", "slots"):
            np.testing.assert_allclose(getattr(ours, kind), getattr(theirs, kind), atol=1e-5)
        assert ours.iteration == theirs.iteration == 4

    for_all(NEW, check)


def test_old_versions_begin_training_anew():
    def check(name):
        net = read(name)
        assert "starts anew" in net.notes[-1] and net.network.state.iteration == 0
        assert not net.network.state.slots.any()
        columns = batch_columns(name)[1]
        first = net.network.score((columns["features"], columns["labels"]))
        train_once(net.network, columns)
        assert net.network.score((columns["features"], columns["labels"])) < first

    for_all(OLD, check)


def test_normalizers_are_transforms():
    def check(name):
        net, given = read(name), arrays(name)
        x = Batch(columns={"features": given["x"]}, ids=np.arange(len(given["x"]), dtype=np.uint64))
        ours = net.normalizer.apply(x, None).columns["features"]
        np.testing.assert_allclose(ours, given["normal"], rtol=1e-5, atol=1e-5)

    for_all(("mlp", "lenet"), check)
    assert "apply it yourself" in read("graves").notes[0]  # one per feature of sequences
    mean, std = (np.array(getattr(read("graves").normalizer, name)) for name in ("mean", "std"))
    given = arrays("graves")
    np.testing.assert_allclose((given["x"] - mean) / std, given["normal"], atol=1e-5)


def test_options_go_before_those_of_the_file():
    net = read("mlp", optimizer="adam", seed=3)
    assert net.network.conf.optimizer.type_name == "Adam" and net.network.conf.seed == 3
    assert not net.network.state.slots.any()
    net = read("mlp", training=False)
    assert net.network.conf.outputs == ()
    check_outputs(net, *given_and_expected("mlp"))


def test_a_shape_that_the_file_leaves_open_is_asked_for():
    with pytest.raises(ConfigError, match=r"features: its shape must be known.*shapes="):
        read_dl4j(path_of("graves"))


def test_all_that_is_not_supported_is_one_error():
    with pytest.raises(UnsupportedError) as error:
        read_dl4j(path_of("capsules"), shapes=(1, 12, 12))
    for name in ("PrimaryCapsules", "CapsuleLayer", "CapsuleStrengthLayer"):
        assert name in str(error.value)


def test_a_model_predicts_a_column_of_rows_that_its_normalizer_was_made_for():
    def check(name):
        net, predictor, x = read(name), choose_predictor(path_of(name)), batch_columns(name)[0]
        if (transform := net.network.transform) is not None:  # undo it, to get the rows
            x = x * np.array(transform.std, np.float32) + np.array(transform.mean, np.float32)
        [layer] = predictor.outputs
        found = predictor.load([layer])({next(iter(predictor.inputs)): x})[layer]
        np.testing.assert_allclose(found, answers(name, "out")[0], atol=1e-5)

    for_all(("mlp", "lenet", "options"), check)
    assert read("mlp").network.transform and read("graves").network.transform is None


SERIALIZED = b"\xac\xed\x00\x05sr\x00\x01x"
DAMAGED = {
    "must hold coefficients.bin": {"coefficients.bin": None},
    "must hold configuration.json": {"configuration.json": None},
    "normalizer.bin must not be serialized by Java": {"normalizer.bin": SERIALIZED},
    "updater.bin must not be serialized by Java": {"updater.bin": SERIALIZED},
    "must be JSON": {"configuration.json": "{"},
    "must be of a MultiLayerNetwork or a ComputationGraph": {"configuration.json": "{}"},
    "must be an array of ND4J, got 'x'": {"coefficients.bin": b"\x00\x01x"},
    "the shape of an array must be integers": {
        "coefficients.bin": b"\x00\x04HEAP\x00\x00\x00\x01\x00\x05FLOAT\x7f\xc0\x00\x00"  # NaN
    },
    "must have 2 bytes from 0 on": {"updaterState.bin": b""},
    "must be a normalizer of version 1": {"normalizer.bin": b"\x00\x01x\x00\x00\x00\x01"},
}


def test_damaged_files_are_named(tmp_path):
    def check(words):
        with pytest.raises(DataError, match=words):
            read_dl4j(changed(tmp_path, DAMAGED[words]))

    for_all(DAMAGED, check)
    shutil.copy(__file__, tmp_path / "a.zip")
    with pytest.raises(DataError, match="cannot be read as a zip"):
        read_dl4j(str(tmp_path / "a.zip"))


def test_sizes_that_the_vector_does_not_have_are_refused_before_memory_is_taken(tmp_path):
    def change(config):
        confs = config["confs"]
        confs[0]["layer"]["nout"] = confs[1]["layer"]["nin"] = 1 << 30

    with pytest.raises(DataError, match="the layers must have"):
        read_dl4j(changed(tmp_path, {}, change=change))


REFUSED = {
    "custom class": lambda layer: layer.update({"@class": "com.mine.Layer"}),
    "activation 'rrelu'": lambda layer: layer.update(activationFn={"@class": "org.nd4j.RReLU"}),
    "updater 'nadam' is not supported; give another": lambda layer: layer["iupdater"].update(
        {"@class": "org.nd4j.linalg.learning.config.Nadam"}
    ),
    "constraints": lambda layer: layer.update(constraints=[{"@class": "org.nd4j.MaxNorm"}]),
    "haslayernorm=True": lambda layer: layer.update(hasLayerNorm=True),
    "nIn": lambda layer: layer.update(nin=4),
    "mystery=3 is not supported": lambda layer: layer.update(mystery=3),
}


def test_options_that_have_no_twin_are_refused(tmp_path):
    def check(words):
        path = changed(
            tmp_path, {}, change=lambda config: REFUSED[words](config["confs"][1]["layer"])
        )
        with pytest.raises(UnsupportedError, match=words):
            read_dl4j(path)

    for_all(REFUSED, check)
