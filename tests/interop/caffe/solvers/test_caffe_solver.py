"""Training by a solver file on local processes: Caffe's numbers, tests and snapshots."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.data.source import Split
from sparkdl.errors import CheckpointError, ConfigError
from sparkdl.interop.caffe import (
    CaffeSolver,
    read_solver_state,
    read_weights,
    source_of,
    write_weights,
)
from sparkdl.interop.caffe.evaluation.head import FirstRecords
from sparkdl.interop.caffe.solvers.caffe_solver import prefix_of
from sparkdl.interop.caffe.solvers.job import read_job
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.local_sgd.master import LocalSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from sparkdl.training.report.dashboard import Dashboard
from sparkdl.training.report.html_report import HtmlReport
from sparkdl.training.report.prometheus_endpoint import PrometheusEndpoint
from sparkdl.training.report.run_folder import read_run
from sparkdl.training.report.run_log import RunLog
from sparkdl.training.report.tensorboard import TensorBoard
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.progress_bar import ProgressBar
from sparkdl.training.saving.model_checkpoint import ModelCheckpoint
from sparkdl.training.workers.local import LocalWorkers
from tests.interop.caffe.solver_files import NET, RECORDS, write_solver
from tests.training.master_table import joint_batches
from tests.training.models import assert_equal

TESTED = "test_iter: 6 test_interval: 8"
RATES = np.array([1.0, 2.0])  # lr_mult of weights and biases


@pytest.fixture(scope="module")
def workers():
    with LocalWorkers(2, timeout=60, threads=1) as workers:
        yield workers


def softmax(x, weights, biases):
    z = x @ weights.T + biases
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def by_hand(batches, weights, biases, updates, times, limit):
    """Returns [(weights, biases, velocities)] after each update of Caffe's SGD, in float64.

    Caffe clips the sum of the gradients of `times` minibatches, then divides it by `times`.
    """
    velocity, found = [np.zeros_like(weights), np.zeros_like(biases)], []
    for number, batch in zip(range(updates), batches, strict=False):
        x = batch.features.reshape(len(batch), -1) * 0.01
        p = softmax(x, weights, biases) - np.eye(3)[batch.labels]
        rate = 0.1 * (1 + 0.1 * number) ** -0.75
        gradients = [times * p.T @ x / len(x), times * p.mean(0)]
        norm = np.sqrt(sum((g**2).sum() for g in gradients))
        gradients = [g * min(1, limit / norm) / times for g in gradients]
        gradients[0] += 0.01 * weights
        velocity = [
            0.9 * v + rate * factor * g
            for v, factor, g in zip(velocity, RATES, gradients, strict=True)
        ]
        weights, biases = weights - velocity[0], biases - velocity[1]
        found.append((weights, biases, velocity))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_it_trains_with_caffes_numbers(times, workers, tmp_path):
    """Schedule, momentum, decay, factors per parameter, iter_size, the number of updates."""
    limit = 0.5 * times
    more = f"iter_size: {times} clip_gradients: {limit} {TESTED}"
    path = write_solver(tmp_path, f"max_iter: 21 snapshot: 8 {more}")
    solver = CaffeSolver(path)
    start = solver.network.conf.params_layout.views(solver.network.state.params.astype(float))
    history = solver.fit(workers=workers)
    assert solver.network.state.iteration == 21
    assert solver.master == AllReduceSGD(batch_size_per_worker=4, accumulate=times)
    conf, source = solver.network.conf, source_of(solver.job.train.data[0])
    seeded = replace(solver.master, seed=3)
    schema = schema_of(conf, transform=source.transform)
    blocks = workers.load(source, schema, solver.master.records_per_block, seeded)
    epochs = range(21)
    batches = (b for e in epochs for b in joint_batches(solver.master, blocks, workers, conf, e))
    wanted = by_hand(batches, start["ip/W"].T, start["ip/b"], 21, times, limit)
    for number in (8, 16, 21):
        weights, biases, velocity = wanted[number - 1]
        model = read_weights(f"{tmp_path}/at_iter_{number}.caffemodel")
        state = read_solver_state(f"{tmp_path}/at_iter_{number}.solverstate")
        np.testing.assert_allclose(model["ip"][0], weights, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(model["ip"][1], biases, rtol=1e-4, atol=1e-6)
        for blob, expected in zip(state.history, velocity, strict=True):
            np.testing.assert_allclose(blob, expected, rtol=1e-4, atol=1e-6)
    assert [one.iteration for one in history.validations] == [0, 8, 16]
    data = Batch.concat(batch for split in source.splits() for batch in source.read(split))
    x, labels = data.features[:30].reshape(30, -1) * 0.01, data.labels[:30]  # 6 batches of 5
    for one in history.validations[1:]:
        p = softmax(x, *wanted[one.iteration - 1][:2])
        figures = one.validation.figures()
        assert figures["accuracy"] == pytest.approx((p.argmax(1) == labels).mean())
        assert figures["loss"] == pytest.approx(-np.log(p[range(30), labels]).mean(), rel=1e-4)
    [of_tests] = solver.test_data()  # all records, with the net's scale
    p = softmax(data.features.reshape(RECORDS, -1) * 0.01, *wanted[-1][:2])
    figures = solver.network.evaluate(of_tests)
    assert figures.accuracy == pytest.approx((p.argmax(1) == data.labels).mean())
    assert figures.loss == pytest.approx(-np.log(p[range(RECORDS), data.labels]).mean(), rel=1e-4)


MASTERS = {
    "all-reduce": AllReduceSGD(updates_per_round=5),
    "averaging by the driver": ParameterAveraging(aggregation="driver", averaging_frequency=3),
    "averaging by peers": ParameterAveraging(averaging_frequency=3, aggregation="peers"),
    "servers": ParameterServer(updates_per_round=5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MASTERS)
def test_it_goes_on_from_a_snapshot_as_if_it_had_not_stopped(name, workers, tmp_path):
    format = "HDF5" if name == "servers" else "BINARYPROTO"
    end = ".h5" if name == "servers" else ""
    more = f"snapshot: 7 {TESTED} snapshot_format: {format}"
    path = write_solver(tmp_path, f"max_iter: 23 {more}")
    whole = CaffeSolver(path, MASTERS[name])
    history = whole.fit(workers=workers)
    snapshot = f"{tmp_path}/at_iter_14.solverstate{end}"
    again = CaffeSolver(path, MASTERS[name], snapshot=snapshot)
    assert again.network.state.iteration == 14
    rest = again.fit(workers=workers)
    assert_equal(again.network.state, whole.network.state)
    assert again.network.state.params.tobytes() == whole.network.state.params.tobytes()
    [last] = rest.validations
    assert last.validation.figures() == history.validations[-1].validation.figures()


def test_a_model_that_is_read_again_gives_the_same_bits(workers, tmp_path, rng):
    """From a prototxt, through training and a .caffemodel, back to a network."""
    solver = CaffeSolver(write_solver(tmp_path, "max_iter: 9"))
    solver.fit(workers=workers)
    again = CaffeSolver(tmp_path / "solver.prototxt", weights=f"{tmp_path}/at_iter_9.caffemodel")
    assert again.loaded[0].loaded == ("ip",) and again.network.state.iteration == 0
    x = rng.normal(size=(20, 1, 3, 3)).astype("f")
    predictions = solver.network.predict(x)
    assert predictions.tobytes() == again.network.predict(x).tobytes()
    assert predictions.tobytes() != Network(solver.network.conf).predict(x).tobytes()


def test_training_starts_from_the_weights_that_the_solver_names(workers, tmp_path):
    """Layers with other names keep their initial values."""
    solver = CaffeSolver(write_solver(tmp_path, "max_iter: 5"))
    solver.fit(workers=workers)
    model = f"{tmp_path}/at_iter_5.caffemodel"
    tuned = NET.replace("name: 'ip'", "name: 'fresh'")
    path = write_solver(tmp_path, f"max_iter: 5 weights: '{model}'", tuned)
    with pytest.raises(CheckpointError, match="no layer has a name of the network: ip; fresh"):
        CaffeSolver(path)
    path = write_solver(tmp_path, f"max_iter: 5 weights: '{model}'")
    again = CaffeSolver(path)
    np.testing.assert_array_equal(again.network.state.params, solver.network.state.params)
    assert again.network.state.iteration == 0 and not again.network.state.slots.any()


def test_later_files_of_weights_win(tmp_path, rng):
    """As in Caffe, each file in turn overwrites the layers that it has."""
    shapes = {"ip": [(3, 9), (3,)], "next": [(2, 3), (2,)]}
    blobs = {k: [rng.normal(size=s).astype("f") for s in v] for k, v in shapes.items()}
    write_weights(tmp_path / "one", blobs)
    write_weights(tmp_path / "two", {"ip": [np.zeros((3, 9), "f"), np.ones(3, "f")]})
    layer = """layer { name: 'next' type: 'InnerProduct' bottom: 'ip' top: 'next'
        inner_product_param { num_output: 2 } }"""
    names = f"{tmp_path}/one,{tmp_path}/two"
    for text, given in ((f"weights: '{names}'", None), ("", names), ("", names.split(","))):
        path = write_solver(tmp_path, f"max_iter: 5 {text}", NET + layer)
        found = CaffeSolver(path, weights=given)
        arrays = found.network.conf.params_layout.views(found.network.state.params)
        assert [report.loaded for report in found.loaded] == [("ip", "next"), ("ip",)]
        assert not arrays["ip/W"].any() and (arrays["ip/b"] == 1).all()
        np.testing.assert_array_equal(arrays["next/W"], blobs["next"][0].T)


def test_a_file_s_name_may_have_commas(tmp_path):
    path, name = write_solver(tmp_path, "max_iter: 5"), f"{tmp_path}/ip,fine,tuned.caffemodel"
    write_weights(name, {"ip": [np.zeros((3, 9), "f"), np.full(3, 2, "f")]})
    found = CaffeSolver(path, weights=name).network
    assert (found.conf.params_layout.views(found.state.params)["ip/b"] == 2).all()


@pytest.mark.parametrize("weights", ["", " ,"])
def test_a_text_without_a_file_is_refused(weights, tmp_path):
    path = write_solver(tmp_path, "max_iter: 5")
    with pytest.raises(ConfigError, match=f"weights must name a file, got '{weights}'; leave"):
        CaffeSolver(path, weights=weights)


def test_fields_that_change_nothing_are_told(tmp_path, caplog):
    CaffeSolver(write_solver(tmp_path, "max_iter: 5 snapshot_diff: true debug_info: true"))
    assert [one.getMessage() for one in caplog.records] == [
        "the solver's debug_info, snapshot_diff: no effect here"
    ]


def test_data_may_be_given(workers, tmp_path, rng):
    x = rng.integers(0, 255, (20, 1, 3, 3), np.uint8)
    solver = CaffeSolver(write_solver(tmp_path, f"max_iter: 6 {TESTED} test_initialization: false"))
    data = x.astype("f"), np.zeros(20, np.int32)
    history = solver.fit(data, workers, validation=data)
    assert [report.examples for report in history.epochs] == [20, 20]
    assert history.validations == []
    again = CaffeSolver(write_solver(tmp_path, f"max_iter: 8 {TESTED} test_initialization: false"))
    [one] = again.fit(data, workers, validation=data).validations
    assert one.validation.examples == 20 and one.validation.figures()["accuracy"] > 0.9


def test_data_that_is_not_tested_by_updates_is_after_each_epoch(workers, tmp_path, rng):
    solver = CaffeSolver(write_solver(tmp_path, "max_iter: 50 test_iter: 1 test_interval: 0"))
    x = rng.integers(0, 255, (20, 1, 3, 3), np.uint8).astype("f")
    data = x, np.zeros(20, np.int32)
    history = solver.fit(data, workers, validation=data, epochs=2)
    assert [epoch.validation.examples for epoch in history.epochs] == [20, 20]
    assert history.epochs[-1].score is None and "where time went" in str(history)
    assert history.to_dict()["epochs"][1]["validation"]["accuracy"] > 0.5


def test_several_test_nets_are_tested(workers, tmp_path):
    solver = write_solver(tmp_path, f"max_iter: 8 test_iter: 1 {TESTED}")
    history = CaffeSolver(solver, ParameterAveraging()).fit(workers=workers)
    figures = history.validations[-1].validation.figures()
    assert list(figures) == ["0/accuracy", "0/loss", "1/accuracy", "1/loss"]
    assert history.validations[-1].validation.counts == [5, 30]
    assert "update 8: 0/accuracy 0." in str(history)


def test_it_says_what_it_does_as_caffe_does(workers, tmp_path, caplog):
    text = f"max_iter: 10 display: 5 average_loss: 5 snapshot_after_train: false {TESTED}"
    with caplog.at_level(logging.INFO, "sparkdl.caffe"):
        CaffeSolver(write_solver(tmp_path, text)).fit(workers=workers)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "Iteration 0, Testing net (#0)"
    assert lines[1].startswith("    Test net output #0: accuracy = 0.")
    assert any(line.startswith("Iteration 10, loss = ") for line in lines)
    assert f"Iteration 10, lr = {0.1 * 2**-0.75:.6g}" in lines
    assert not list(tmp_path.glob("*.caffemodel"))


PREFIXES = [("'/a/b'", "/a/b"), ("'/a/'", "/a/solver"), ("''", "{folder}/solver")]
PREFIXES += [("'{folder}'", "{folder}/solver")]


@pytest.mark.parametrize("prefix, wanted", PREFIXES)
def test_snapshots_are_named_as_caffe_names_them(prefix, wanted, tmp_path):
    path = write_solver(tmp_path)
    text = path.read_text().replace(f"'{tmp_path}/at'", prefix.format(folder=tmp_path))
    path.write_text(text)
    assert prefix_of(read_job(path)) == wanted.format(folder=tmp_path)


ASKED = {
    "the solver's": ("CPU", AllReduceSGD(), "cpu"),
    "whatever there is": ("GPU", AllReduceSGD(), "auto"),
    "the master's": ("CPU", AllReduceSGD(device="cuda"), "cuda"),
}


@pytest.mark.parametrize("name", ASKED)
def test_where_it_computes(name, tmp_path):
    mode, master, device = ASKED[name]
    path = write_solver(tmp_path, f"max_iter: 1 solver_mode: {mode}")
    assert CaffeSolver(path, master).master.device == device


BAD = {
    "no updates": ("", None, "max_iter must be at least 1 to train, got 0"),
    "iter_size": ("max_iter: 1 iter_size: 2", LocalSGD(), "must be 1 with LocalSGD, got 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_done_is_refused(name, tmp_path):
    text, master, words = BAD[name]
    with pytest.raises(ConfigError, match=words):
        CaffeSolver(write_solver(tmp_path, text), master)


def test_data_that_no_net_names_must_be_given(workers, tmp_path):
    second = "layer { name: 'e' type: 'Input' top: 'e' input_param { shape { dim: 1 dim: 2 } } }"
    second += "layer { name: 'f' type: 'InnerProduct' bottom: 'e' top: 'f' "
    second += "inner_product_param { num_output: 1 } }"
    solver = CaffeSolver(write_solver(tmp_path, "max_iter: 1", NET + second))
    with pytest.raises(ConfigError, match="one layer of data, got d, e; give the data"):
        solver.fit(workers=workers)


class Numbers:
    """A source whose records are the numbers of their splits; splits may not know their counts."""

    transform = None

    def __init__(self, *counts, known=True):
        self.counts, self.known = counts, known

    def splits(self):
        known = self.known
        return [Split(partition=i, count=n if known else None) for i, n in enumerate(self.counts)]

    def read(self, split):
        yield Batch.of(np.full((self.counts[split.partition], 1), split.partition))


@pytest.mark.parametrize("known, wanted", [(True, [3, 2, 3, 1]), (False, [3, 2, 3, 3, 1, 2])])
def test_the_first_records_are_read_in_batches(known, wanted):
    source = FirstRecords(Numbers(5, 7, 2, known=known), 9, 3)
    read, splits = source.read, source.splits()
    assert [len(batch) for split in splits for batch in read(split)] == wanted
    assert str(splits[0]) == str(Numbers(5).splits()[0]) or not known


def test_all_records_may_be_fewer_than_a_test_asks_for(tmp_path):
    solver = CaffeSolver(write_solver(tmp_path, "max_iter: 1 test_iter: 100 test_interval: 1"))
    [source] = solver.tests(None, lambda one: one)
    assert sum(split.count for split in source.splits()) == RECORDS


LISTENERS = {
    "RunLog": lambda folder: RunLog(folder / "log"),
    "HtmlReport": lambda folder: HtmlReport(folder / "fit.html"),
    "TensorBoard": lambda folder: TensorBoard(folder / "events"),
    "Dashboard": lambda folder: Dashboard(spark_link=False),
    "PrometheusEndpoint": lambda folder: PrometheusEndpoint(),
    "ProgressBar": lambda folder: ProgressBar(),
    "EarlyStopping": lambda folder: EarlyStopping(monitor="validation accuracy", patience=9),
    "ModelCheckpoint": lambda folder: ModelCheckpoint(
        folder / "best.zip", "validation accuracy", save_best_only=True
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTENERS)
def test_tests_have_no_score_but_listeners_show_their_figures(name, workers, tmp_path):
    """Nobody says which output of a net measures its quality: a RunLog ended in a TypeError."""
    solver = CaffeSolver(write_solver(tmp_path, f"max_iter: 9 {TESTED}"))
    history = solver.fit(workers=workers, listeners=[LISTENERS[name](tmp_path)])
    assert history.validations[-1].validation.score is None
    history.report(tmp_path / "page.html")
    written = (tmp_path / "page.html").read_text(), history._repr_html_(), str(history)
    assert all("accuracy" in text for text in written)
    if name == "RunLog":
        assert (
            read_run(tmp_path / "log").history.validations[-1].validation.figures()["accuracy"] > 0
        )
