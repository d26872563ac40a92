"""Runs logged to MLflow: its own client reads from its own server what the History holds."""

import math
import sys

import numpy as np
import pytest

import sparkdl.mlflow
from sparkdl.errors import ConfigError, DataError, DivergedError, UnsupportedError
from sparkdl.interop.mlflow.model_flavor import signature_of
from sparkdl.nn import GraphBuilder, Merge, Momentum, NetworkConf, Output
from sparkdl.training.network import Network
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.reports import Restart
from sparkdl.training.workers.this_process import ThisProcess
from tests.interop.mlflow.server import QUIET, mlflow_server
from tests.training.report.fits import CONF
from tests.training.reports import plan

X = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
DATA = X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    """MLflow, connected to a running server."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUIET.items():
            patch.setenv(name, value)
        mlflow = pytest.importorskip("mlflow")
        folder = tmp_path_factory.mktemp("mlflow")
        before = mlflow.get_tracking_uri()
        with mlflow_server(folder) as url:
            mlflow.set_tracking_uri(url)
            yield mlflow
        mlflow.set_tracking_uri(before)


@pytest.fixture(autouse=True)
def no_automatic_listener():
    yield
    sparkdl.mlflow.autolog(disable=True)


@pytest.fixture(scope="module")
def logged(mlflow):
    """(network, History, run) of a fit that `autolog` has logged."""
    sparkdl.mlflow.autolog()
    net = Network(CONF)
    history = fit(net, epochs=3, validation=DATA)
    sparkdl.mlflow.autolog(disable=True)
    return net, history, last_run(mlflow)


def fit(net, *listeners, epochs=1, **options):
    return net.fit(DATA, epochs, workers=ThisProcess(), listeners=listeners, **options)


def runs(mlflow):
    """Returns all runs, newest first."""
    return mlflow.MlflowClient().search_runs(["0"], order_by=["start_time DESC"])


def last_run(mlflow):
    return runs(mlflow)[0]


def metric(mlflow, run_id, name):
    """Returns (steps, values) of a metric in the order in which they were logged."""
    points = mlflow.MlflowClient().get_metric_history(run_id, name)
    return [point.step for point in points], [point.value for point in points]


# What is logged


@pytest.mark.slow
@pytest.mark.slow
def test_metrics_of_rounds_are_those_of_the_history(mlflow, logged):
    net, history, run = logged
    rates = [net.conf.optimizer.rate_at(r.iteration - 1, r.epoch) for r in history.rounds]
    columns = {
        "training/loss": [report.loss for report in history.rounds],
        "training/learning_rate": rates,
        "training/examples_per_second": [r.examples_per_second for r in history.rounds],
        "exchange/bytes_sent": [report.bytes_sent for report in history.rounds],
    }
    for part in ("reading", "compute", "averaging", "overhead"):
        columns[f"seconds/{part}"] = [report.seconds[part] for report in history.rounds]
    steps = [report.iteration for report in history.rounds]
    for name, values in columns.items():
        assert metric(mlflow, run.info.run_id, name) == (steps, values), name


@pytest.mark.slow
def test_figures_of_evaluations_are_those_of_the_history(mlflow, logged):
    _, history, run = logged
    ends = [[r for r in history.rounds if r.epoch == one.epoch][-1] for one in history.epochs]
    names = {name for name in run.data.metrics if name.startswith("validation/")}
    assert {"validation/accuracy", "validation/loss", "validation/auc"} <= names
    for name in names:
        figure = name.removeprefix("validation/").replace("_", " ")
        values = [float(report.validation.figures()[figure]) for report in history.epochs]
        steps = [report.iteration for report in ends]
        assert metric(mlflow, run.info.run_id, name) == (steps, values), name


@pytest.mark.slow
def test_options_are_parameters(logged):
    net, _, run = logged
    expected = {
        "optimizer": "Momentum",
        "optimizer.learning_rate.initial": "0.5",
        "epochs": "3",
        "master": "ParameterAveraging",
        "workers": "1",
        "records": "64",
        "parameters": str(net.conf.parameter_count),
        "seed": str(net.conf.seed),
    }
    assert expected.items() <= run.data.params.items()
    assert run.info.status == "FINISHED"


@pytest.mark.slow
def test_artifacts_are_the_page_and_the_network(mlflow, logged):
    net, history, run = logged
    uri = f"runs:/{run.info.run_id}/"
    assert NetworkConf.from_json(mlflow.artifacts.load_text(uri + "network.json")) == net.conf
    page = mlflow.artifacts.load_text(uri + "report.html")
    assert f'"loss":{round(history.rounds[-1].loss, 9)}'[:6] in page and "</html>" in page


# The network as a model


def model_uri(logged):
    return f"runs:/{logged[2].info.run_id}/model"


@pytest.mark.slow
def test_the_model_predicts_and_trains_on_as_the_network(mlflow, logged):
    net, *_ = logged
    expected = net.predict(X)
    loaded = mlflow.pyfunc.load_model(model_uri(logged))
    np.testing.assert_array_equal(loaded.predict(X), expected)
    import pandas as pd

    as_columns = pd.DataFrame(X, columns=list("abcd"))
    np.testing.assert_array_equal(loaded.predict(as_columns), expected)
    with pytest.raises(mlflow.MlflowException, match="does not match expected shape"):
        loaded.predict(X[:, :3])
    again = sparkdl.mlflow.load_model(model_uri(logged))
    assert again.conf == net.conf and again.state.iteration == net.state.iteration
    np.testing.assert_array_equal(again.state.params, net.state.params)
    np.testing.assert_array_equal(again.state.slots, net.state.slots)


@pytest.mark.slow
def test_the_signature_has_the_shapes(mlflow, logged):
    info = mlflow.models.get_model_info(model_uri(logged))
    [given], [made] = info.signature.inputs.inputs, info.signature.outputs.inputs
    assert (given.shape, given.type, made.shape) == ((-1, 4), np.dtype(np.float32), (-1, 3))
    assert {"sparkdl", "python_function"} == {*info.flavors}


@pytest.mark.slow
def test_whole_numbers_are_so_in_the_signature(monkeypatch):
    """Otherwise MLflow would refuse the ids that a model of PyTorch or Keras takes."""
    pytest.importorskip("mlflow")
    conf = NetworkConf(input_shape=(4,), layers=[Output(units=3)])
    monkeypatch.setattr(NetworkConf, "integer_columns", frozenset({"features"}))
    signature = signature_of(conf)
    [given], [made] = signature.inputs.inputs, signature.outputs.inputs
    assert (given.type, made.type) == (np.dtype(np.int64), np.dtype(np.float32))


@pytest.mark.slow
def test_spark_s_udf_predicts_as_the_network(mlflow, logged, spark):
    net, *_ = logged
    udf = mlflow.pyfunc.spark_udf(spark, model_uri(logged), "array<float>", env_manager="local")
    rows = [(n, row.tolist()) for n, row in enumerate(X)]
    frame = spark.createDataFrame(rows, "n int, features array<float>")
    found = frame.coalesce(1).select("n", udf("features").alias("y")).orderBy("n").collect()
    np.testing.assert_allclose([row.y for row in found], net.predict(X), rtol=1e-6)


@pytest.mark.slow
def test_inputs_of_a_graph_have_names(tmp_path, mlflow):
    build = GraphBuilder(left=(2,), right=(2,))
    build.add(Merge(), "left", "right")
    build.add(Output(units=3))
    net = Network(build.conf())
    sparkdl.mlflow.save_model(net, tmp_path / "model")
    data = {"left": X[:, :2], "right": X[:, 2:]}
    found = mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(data)
    np.testing.assert_array_equal(found, net.predict(data))


@pytest.mark.slow
def test_a_model_of_another_flavor_is_refused(tmp_path, mlflow):
    import mlflow.pyfunc

    class Other(mlflow.pyfunc.PythonModel):
        def predict(self, model_input: list[str]):
            return model_input

    mlflow.pyfunc.save_model(tmp_path / "other", python_model=Other(), pip_requirements=[])
    with pytest.raises(DataError, match="must be a model of sparkdl"):
        sparkdl.mlflow.load_model(tmp_path / "other")


# Runs


@pytest.mark.slow
def test_an_active_run_takes_one_fit_and_others_are_nested(mlflow):
    listener = sparkdl.mlflow.MLflowLogger(report=False, model=False)
    with mlflow.start_run() as outer:
        first = fit(Network(CONF), listener)
        assert listener.run_id == outer.info.run_id == mlflow.active_run().info.run_id
        second = fit(Network(CONF), listener)
        assert listener.run_id != outer.info.run_id == mlflow.active_run().info.run_id
    child = mlflow.get_run(listener.run_id)
    assert child.data.tags["mlflow.parentRunId"] == outer.info.run_id
    for run_id, history in [(outer.info.run_id, first), (child.info.run_id, second)]:
        values = [report.loss for report in history.rounds]
        assert metric(mlflow, run_id, "training/loss")[1] == values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("a bug"), "FAILED"), (KeyboardInterrupt(), "KILLED")]
)
def test_a_fit_that_ends_in_an_error_ends_its_run_so(mlflow, error, status):
    net = Network(CONF)
    logger = sparkdl.mlflow.MLflowLogger(report=False)
    with pytest.raises(type(error)):
        fit(net, logger, LambdaListener(on_epoch=lambda *_: throw(error)), epochs=2)
    run = mlflow.get_run(logger.run_id)
    assert run.info.status == status and mlflow.active_run() is None
    assert run.data.tags["sparkdl.end_reason"].startswith("interrupted by")
    assert not run.outputs.model_outputs
    later = fit(net, logger, resume=True, epochs=2)
    assert logger.run_id == run.info.run_id
    assert mlflow.get_run(logger.run_id).info.status == "FINISHED"
    steps, _ = metric(mlflow, logger.run_id, "training/loss")
    assert steps == list(range(1, later.rounds[-1].iteration + 1))


def throw(error):
    raise error


@pytest.mark.slow
def test_a_fit_that_diverges_has_failed(mlflow):
    layers, optimizer = [Output(units=1, loss="mse")], Momentum(learning_rate=1e12)
    conf = NetworkConf(input_shape=(4,), layers=layers, optimizer=optimizer)
    logger = sparkdl.mlflow.MLflowLogger(report=False)
    with pytest.raises(DivergedError):
        Network(conf).fit((X, X[:, :1]), 9, workers=ThisProcess(), listeners=[logger])
    run = mlflow.get_run(logger.run_id)
    assert run.info.status == "FAILED"
    assert all(math.isfinite(value) for value in run.data.metrics.values())


@pytest.mark.slow
def test_the_model_is_that_with_which_the_fit_ends(mlflow):
    logger = sparkdl.mlflow.MLflowLogger(report=False)
    net = Network(CONF)
    stop = EarlyStopping(patience=1, min_delta=1e9)  # no later epoch is better than the first
    fit(net, stop, logger, epochs=5, validation=DATA)
    found = sparkdl.mlflow.load_model(f"runs:/{logger.run_id}/model")
    np.testing.assert_array_equal(found.state.params, net.state.params)
    assert mlflow.get_run(logger.run_id).info.status == "FINISHED"


@pytest.mark.slow
def test_restarts_are_counted_and_repeated_rounds_keep_their_steps(mlflow):
    logger = sparkdl.mlflow.MLflowLogger(report=False, model=False)
    from sparkdl.training.reporting.history import History
    from tests.training.reports import report

    history = History()
    logger.on_fit_start(plan(conf=CONF, history=history))
    for loss, iteration in [(1.0, 1), (math.nan, 2), (4.0, 2)]:
        made = report(loss=loss, iteration=iteration)
        history.add_round(made)
        logger.on_round(made, None)
        if math.isnan(loss):
            history.go_back(Restart(epoch=0, round=1, lost=1, workers=1, reason="killed"))
            logger.on_restart(history.restarts[-1])
    logger.on_fit_end(history)
    assert metric(mlflow, logger.run_id, "training/loss") == ([1, 2], [1.0, 4.0])
    assert metric(mlflow, logger.run_id, "training/restarts") == ([1], [1.0])


@pytest.mark.slow
def test_after_disable_nothing_is_logged(mlflow):
    before = len(runs(mlflow))
    sparkdl.mlflow.autolog(report=False, model=False)
    fit(Network(CONF))
    assert len(runs(mlflow)) == before + 1
    sparkdl.mlflow.autolog(disable=True)
    fit(Network(CONF))
    assert len(runs(mlflow)) == before + 1


# Errors


@pytest.mark.slow
def test_metrics_wait_for_a_server_that_does_not_answer(mlflow, monkeypatch, caplog):
    logger = sparkdl.mlflow.MLflowLogger(report=False, model=False, seconds=0)
    taken, log_batch = [], mlflow.MlflowClient.log_batch

    def refuse_first(client, run_id, metrics=(), params=()):
        taken.append(len(metrics))
        if metrics and sum(map(bool, taken)) <= 2:
            raise mlflow.MlflowException("no answer")
        return log_batch(client, run_id, metrics=metrics, params=params)

    monkeypatch.setattr(mlflow.MlflowClient, "log_batch", refuse_first)
    history = fit(Network(CONF), logger, epochs=3)
    assert "MLflow did not accept the metrics: no answer" in caplog.text
    values = [report.loss for report in history.rounds]
    assert metric(mlflow, logger.run_id, "training/loss")[1] == values


@pytest.mark.slow
def test_a_server_that_takes_no_page_ends_no_fit(mlflow, monkeypatch, caplog):
    log_artifact = mlflow.MlflowClient.log_artifact

    def refuse_page(client, run_id, path, *arguments):
        if path.endswith("report.html"):
            raise mlflow.MlflowException("no room")
        return log_artifact(client, run_id, path, *arguments)

    monkeypatch.setattr(mlflow.MlflowClient, "log_artifact", refuse_page)
    logger = sparkdl.mlflow.MLflowLogger()
    assert fit(Network(CONF), logger).rounds
    assert "MLflow did not accept the end of the fit: no room" in caplog.text
    assert mlflow.get_run(logger.run_id).info.status == "FINISHED"


@pytest.mark.slow
def test_options_are_checked(mlflow):
    with pytest.raises(ConfigError, match=r"MLflowLogger\.seconds must be"):
        sparkdl.mlflow.autolog(seconds=-1)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'sparkdl-hadoop\[mlflow\]'"):
        sparkdl.mlflow.autolog()
