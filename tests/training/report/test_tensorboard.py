"""TensorBoard's own reader finds the figures of the History."""

import base64
import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata as hparams

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.nn import NetworkConf
from sparkdl.training.network import Network
from sparkdl.training.report.inspector import Inspector
from sparkdl.training.report.tensorboard import TensorBoard
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.reports import FitPlan, Restart, RoundReport
from sparkdl.training.workers.local import LocalWorkers
from tests.training.report.fits import CONF
from tests.training.report.fits import history as fits_history
from tests.training.reports import plan, report

X = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
DATA = X, (X[:, 0] > 0).astype(int)
SECONDS = {"reading": 0.0, "compute": 1.0, "averaging": 0.0, "overhead": 0.0}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Returns (network after a fit, its History, events read by TensorBoard)."""
    folder = tmp_path_factory.mktemp("run")
    net = Network(CONF)
    listeners = [Inspector(DATA), TensorBoard(folder, bytes_per_round=None)]
    options = {"listeners": listeners, "workers": LocalWorkers(1)}
    history = net.fit(DATA, 3, validation=DATA, **options)
    return net, history, read(folder)


def read(folder):
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0})
    return reader.Reload()


def scalars(reader, tag):
    events = reader.Scalars(tag)
    return [event.step for event in events], [event.value for event in events]


@pytest.mark.slow
def test_scalars_of_rounds_are_those_of_the_history(written):
    net, history, reader = written
    steps = [report.iteration for report in history.rounds]
    rates = [net.conf.optimizer.rate_at(r.iteration - 1, r.epoch) for r in history.rounds]
    columns = {
        "training/loss": [report.loss for report in history.rounds],
        "training/learning_rate": rates,
        "training/examples_per_second": [r.examples_per_second for r in history.rounds],
    }
    for tag, values in columns.items():
        assert scalars(reader, tag) == (steps, np.float32(values).tolist()), tag


def rounds_of_epochs(history):
    return [[r for r in history.rounds if r.epoch == one.epoch] for one in history.epochs]


def test_sums_of_epochs_are_those_of_the_history(written):
    _, history, reader = written
    rounds = rounds_of_epochs(history)
    steps = [of_epoch[-1].iteration for of_epoch in rounds]
    columns = {"exchange/bytes_sent": [sum(r.bytes_sent for r in one) for one in rounds]}
    for part in SECONDS:
        columns[f"seconds/{part}"] = [report.seconds[part] for report in history.epochs]
    for tag, values in columns.items():
        assert scalars(reader, tag) == (steps, np.float32(values).tolist()), tag


def test_inspections_are_those_of_the_history(written):
    _, history, reader = written
    reports = history.inspection.layers
    steps = [report.iteration for report in reports]
    for name in reports[0].arrays:
        ratios = np.float32([report.arrays[name].ratio for report in reports]).tolist()
        assert scalars(reader, f"update_ratio/{name}") == (steps, ratios)


@pytest.mark.slow
def test_a_round_takes_less_than_200_bytes(tmp_path):
    """With short epochs, too; the start and end of a fit do not count."""
    sizes = {}
    for epochs in (2, 52):
        net, history = Network(CONF), History()
        listener = TensorBoard(tmp_path / str(epochs))
        listener.on_fit_start(plan(conf=CONF, epochs=epochs, history=history))
        for n in range(20 * epochs):
            place = {"epoch": n // 20, "round": n % 20, "rounds_in_epoch": 20}
            history.add_round(report(**place, iteration=100_000 + n, bytes_sent=10**9))
            listener.on_round(history.rounds[-1], None)
            if n % 20 == 19:
                state = replace(net.state, iteration=100_000 + n)
                listener.on_epoch(history.end_epoch(), state)
        listener.on_fit_end(history)
        sizes[epochs] = sum(path.stat().st_size for path in (tmp_path / str(epochs)).iterdir())
        reader = read(tmp_path / str(epochs))
        assert len(reader.Scalars("training/loss")) == 20 * epochs
        assert len(reader.Scalars("seconds/compute")) == epochs
    assert 100 < (sizes[52] - sizes[2]) / 1000 < 200
    assert 2 < len(reader.Histograms("parameters/dense_1/W")) < 52


@pytest.mark.parametrize("limit", [0, 1.5])
def test_the_limit_is_a_whole_number(limit, tmp_path):
    with pytest.raises(ConfigError, match="TensorBoard.bytes_per_round must be an integer >= 1"):
        TensorBoard(tmp_path, bytes_per_round=limit)


def test_figures_of_evaluations_are_those_of_the_history(written):
    _, history, reader = written
    steps = [of_epoch[-1].iteration for of_epoch in rounds_of_epochs(history)]
    names = [tag for tag in reader.Tags()["scalars"] if tag.startswith("validation/")]
    assert "validation/accuracy" in names and "validation/loss" in names
    for tag in names:
        name = tag.removeprefix("validation/").replace("_", " ")
        values = [report.validation.figures()[name] for report in history.epochs]
        assert scalars(reader, tag) == (steps, np.float32(values).tolist()), tag


def test_the_last_histograms_are_of_the_parameters(written):
    net, history, reader = written
    views = net.conf.params_layout.views(net.state.params)
    assert {f"parameters/{name}" for name in views} == {*reader.Tags()["histograms"]}
    for name, array in views.items():
        found = reader.Histograms(f"parameters/{name}")
        assert len(found) == len(history.epochs)
        last = found[-1].histogram_value
        assert (last.min, last.max, last.num) == (array.min(), array.max(), array.size)
        np.testing.assert_allclose(last.sum, array.sum(dtype=np.float64))


def test_the_graph_has_each_layer_with_its_inputs(written):
    net, _, reader = written
    nodes = {node.name: node for node in reader.Graph().node}
    for place in net.conf.stack:
        node = nodes[place.name]
        assert (node.op, tuple(node.input)) == (place.layer.type_name, place.sources)
        [shape] = node.attr["_output_shapes"].list.shape
        assert [size.size for size in shape.dim] == [-1, *place.out_shape]
    assert {source for node in nodes.values() for source in node.input} <= {*nodes}


def test_hyperparameters_are_those_of_the_network(written):
    net, _, reader = written
    content = reader.PluginTagToContent(hparams.PLUGIN_NAME)
    start = hparams.parse_session_start_info_plugin_data(content[hparams.SESSION_START_INFO_TAG])
    assert start.hparams["optimizer"].string_value == net.conf.optimizer.type_name
    schedule = net.conf.optimizer.learning_rate
    rate = start.hparams["optimizer.learning_rate.initial"].number_value
    assert rate == schedule.initial == 0.5
    assert start.hparams["workers"].number_value == 1
    experiment = hparams.parse_experiment_plugin_data(content[hparams.EXPERIMENT_TAG])
    tags = {metric.name.tag for metric in experiment.metric_infos}
    assert tags == {*reader.Tags()["scalars"]}


def test_rounds_that_were_lost_do_not_count(tmp_path):
    history, listener = History(), TensorBoard(tmp_path)
    plan = FitPlan(conf=CONF, epochs=1, rounds_in_epoch=4, history=history)
    listener.on_fit_start(plan)
    for loss, iteration in [(1.0, 1), (2.0, 2), (3.0, 3)]:
        tell(listener, history, loss, iteration)
    restart = Restart(epoch=0, round=1, lost=2, workers=1, reason="one was killed")
    history.go_back(restart)
    listener.on_restart(restart)
    tell(listener, history, 4.0, 2)
    listener.on_fit_end(history)
    assert scalars(read(tmp_path), "training/loss") == ([1, 2], [1.0, 4.0])


def tell(listener, history, loss, iteration):
    place = {"epoch": 0, "round": iteration - 1, "rounds_in_epoch": 4, "iteration": iteration}
    report = RoundReport(**place, examples=1, loss=loss, seconds=SECONDS, workers=1)
    history.add_round(report)
    listener.on_round(report, None)


def test_images_that_are_most_wrong_are_those_of_the_last_evaluation(tmp_path):
    made, listener = fits_history(), TensorBoard(tmp_path)
    listener.on_fit_start(FitPlan(conf=CONF, epochs=2, rounds_in_epoch=3, history=made))
    listener.on_fit_end(made)
    reader = read(tmp_path)
    assert reader.Tags()["images"] == ["most_wrong/1"]  # the second has no image
    [image] = reader.Images("most_wrong/1")
    assert image.step == made.rounds[-1].iteration
    assert (image.width, image.height) == (8, 8)
    shown = Image.open(io.BytesIO(image.encoded_image_string))
    content = base64.b64decode(made.epochs[-1].validation.wrong[0].image.partition(",")[2])
    np.testing.assert_array_equal(shown, Image.open(io.BytesIO(content)))
    about = reader.SummaryMetadata("most_wrong/1").summary_description
    assert about == "ant, predicted <bee> (0.9), loss 3.5"


def test_a_network_that_is_not_finite_has_its_other_histograms(tmp_path):
    net, listener = (
        Network(NetworkConf(input_shape=(4,), layers=CONF.layers)),
        TensorBoard(tmp_path),
    )
    state = net.state
    net.conf.params_layout.views(state.params)["output_1/b"][:] = np.nan
    listener.on_fit_start(FitPlan(conf=net.conf, epochs=1, rounds_in_epoch=1))
    listener._write_parameters(state, 0)
    listener.on_fit_end(History())
    names = set(net.conf.params_layout.views(state.params)) - {"output_1/b"}
    assert {*read(tmp_path).Tags()["histograms"]} == {f"parameters/{name}" for name in names}


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'sparkdl-hadoop\[tensorboard\]'"):
        TensorBoard("run")
