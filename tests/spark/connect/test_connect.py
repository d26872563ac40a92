"""Networks over Spark Connect: the same results as without it, or a clear refusal."""

import numpy as np
import pytest

from sparkdl.errors import (
    ConfigError,
    DataError,
    DivergedError,
    NothingToEvaluate,
    UnsupportedError,
    WorkerError,
)
from tests.spark.connect import steps
from tests.support.waiting import until


@pytest.fixture(scope="module")
def whole(spark, path):
    """The weights of a classic fit of three epochs that runs undisturbed."""
    return steps.whole(spark, path)


STEPS = [steps.share, steps.scatter, steps.merge, steps.columns]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_weights_are_those_of_a_classic_fit(connect, spark, path, step):
    assert connect(step, path) == step(spark, path)


def test_classifier_is_the_classic_one(connect, spark, path):
    ours, theirs = connect(steps.classify, path), steps.classify(spark, path)
    assert ours[0] == theirs[0]
    for one, other in zip(ours[1:], theirs[1:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
def test_cross_validator_chooses_the_same_model(connect, spark, path):
    assert connect(steps.cross_validate, path) == steps.cross_validate(spark, path)


def test_fit_that_a_listener_stopped_goes_on(connect, whole, path):
    reason, weights = connect(steps.resume, path)
    assert "s have passed" in reason
    assert weights == whole


def test_losses_end_a_fit(connect, spark, path):
    (target, limit), epochs = connect(steps.stop_by_losses, path)
    assert ([target, limit], epochs) == steps.stop_by_losses(spark, path)
    assert "as good as the target" in target and "exceeds" in limit and epochs == 1


def test_another_network_goes_on_from_a_checkpoint(connect, whole, path, tmp_path):
    epoch, weights = connect(steps.resume_from_a_checkpoint, path, str(tmp_path))
    assert (epoch, weights) == (3, whole)


def test_a_resumed_fit_keeps_its_workers(connect, path, tmp_path):
    """It was refused where the cluster had more slots, against the docs."""
    assert connect(steps.resume_with_its_workers, path, str(tmp_path)) == (1, True)


def test_a_fit_that_cannot_go_on_leaves_what_a_classic_one_leaves(connect, spark, path, tmp_path):
    ours = connect(steps.resume_in_vain, path, f"{tmp_path}/ours")
    assert ours == steps.resume_in_vain(spark, path, f"{tmp_path}/classic")
    assert ours["workers"][1].startswith("workers 2, this fit has 1")
    assert ours["records"][1].startswith("records 60, this fit has 54")
    kept = {what: (left[0], left[2]) for what, left in ours.items()}
    refused = dict.fromkeys(("workers", "records", "saved"), ("CheckpointError", True))
    failed = {"worker": ("WorkerError", False), "diverged": ("DivergedError", True)}
    assert kept == refused | failed


def test_settings_that_hide_the_cores_of_a_server_are_read(connect, spark, path):
    parallelism = str(spark.sparkContext.defaultParallelism)
    assert connect(steps.cores, path) == ([parallelism, None], None)


def test_mlflow_gets_the_losses(connect, path, tmp_path):
    status, losses, logged = connect(steps.log_to_mlflow, path, str(tmp_path))
    assert status == "FINISHED" and len(losses) >= 3
    assert logged == losses


def test_a_ctrl_c_ends_the_fit_on_the_server(connect, spark, whole, path, tmp_path):
    interrupted, weights = connect(steps.interrupt, path, str(tmp_path))
    assert interrupted
    assert weights == whole
    tracker = spark.sparkContext.statusTracker()
    assert until(lambda: not list(tracker.getActiveJobsIds()))


def test_a_lost_executor_costs_the_attempt_alone(connect, whole, path, tmp_path):
    [why, *_], weights = connect(steps.lose_an_executor, path, str(tmp_path))
    assert weights == whole
    assert "ExecutorLostFailure" in why and why.endswith("; restarting the fit")
    assert (tmp_path / "killed").exists()


def test_a_worker_that_is_lost_costs_a_restart(connect, whole, path, tmp_path):
    found = connect(steps.lose_a_worker, path, str(tmp_path))
    assert found == (1, whole)
    assert (tmp_path / "gone").exists()


def test_a_restart_goes_on_from_the_last_checkpoint(connect, whole, path, tmp_path):
    found = connect(steps.lose_a_worker_after_a_checkpoint, path, str(tmp_path))
    assert found == (1, whole)
    assert (tmp_path / "gone").exists()


def test_a_lost_worker_ends_a_fit_that_may_not_restart(connect, path, tmp_path):
    kind, text = connect(steps.lose_for_good, path, str(tmp_path))
    assert kind is WorkerError and "gone" in text and "restarts" not in text


def test_an_error_of_a_listener_is_what_it_is_in_a_classic_fit(connect, spark, path):
    ours = connect(steps.fail_in_a_listener, path)
    assert ours == steps.fail_in_a_listener(spark, path)
    assert ours[0] is steps.Impatient


def test_features_and_evaluation_are_the_classic_ones(connect, spark, path):
    (loss, ours, wrong), (classic_loss, theirs, classic_wrong) = (
        connect(steps.features, path),
        steps.features(spark, path),
    )
    assert loss == pytest.approx(classic_loss, rel=1e-12)
    np.testing.assert_array_equal(ours, theirs)
    assert wrong == classic_wrong and len(wrong) == 12


def test_metrics_of_a_user_are_the_classic_ones(connect, spark, path):
    (ours, best, figures), theirs = connect(steps.measure, path), steps.measure(spark, path)
    for found, expected in zip([*ours, figures], [*theirs[0], theirs[2]], strict=True):
        assert found == pytest.approx(expected, rel=1e-9)
    assert best == theirs[1] == max(one["f2"] for one in ours)


def test_a_column_of_a_model_is_the_classic_one(connect, spark, path):
    np.testing.assert_array_equal(connect(steps.column, path), steps.column(spark, path))


@pytest.mark.parametrize(
    ("what", "kind", "says"),
    [
        ("driver", UnsupportedError, "aggregation='peers'"),
        ("listener", UnsupportedError, "LambdaListener"),
        ("source", UnsupportedError, "Arrays"),
        ("stream", UnsupportedError, "a stream"),
        ("workers", ConfigError, "at most 2, got 9"),
        ("devices", UnsupportedError, "devices"),
        ("resources", UnsupportedError, "resources= cannot work over Spark Connect"),
        ("table_folder", UnsupportedError, "table_folder='/nowhere'.* cannot work over Spark"),
        ("saving", UnsupportedError, "model.network.save"),
        ("overwriting", UnsupportedError, "model.network.save"),
        ("search", UnsupportedError, "Search cannot work over Spark Connect"),
        ("epochs", ConfigError, "epochs must be an integer >= 1, got 0"),
        ("updates", ConfigError, "updates must be an integer >= 1 or None, got 0"),
        ("validate_every", ConfigError, "validate_every must be an integer >= 1 or None, got 0"),
        ("resume", ConfigError, "resume must be a checkpoint's path"),
    ],
)
def test_what_cannot_work_is_refused_by_name(connect, path, what, kind, says):
    with pytest.raises(kind, match=says):
        connect(steps.refuse, path, what)


@pytest.mark.parametrize(
    ("what", "kind", "says"),
    [
        ("schema", DataError, "the DataFrame: column 'two'|4"),
        ("missing", DataError, "nothing"),
        ("record", DataError, "label"),
        ("no tests", NothingToEvaluate, "evaluate on: every partition is empty"),
        ("tests of no weight", NothingToEvaluate, "evaluate on: the weight of each is 0"),
        ("bad tests", DataError, "label must be in"),
        ("drawn", NothingToEvaluate, "validation_split selects none of the records"),
        ("diverged", DivergedError, "not finite|diverged"),
        ("worker", WorkerError, "of the user's own"),
        ("monitor", ConfigError, r"EarlyStopping.monitor must be one of \['loss'\]"),
    ],
)
def test_errors_reach_the_client_as_they_are(connect, path, what, kind, says):
    with pytest.raises(kind, match=says):
        connect(steps.fail, path, what)
