"""Ensembles as models of pyspark.ml: columns, evaluations, and persistence."""

import math
from dataclasses import replace

import numpy as np
import pytest
from pyspark.ml import PipelineModel
from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions as F
from sklearn import metrics

from sparkdl.errors import CheckpointError, ConfigError
from sparkdl.nn.losses import SigmoidCrossEntropy
from sparkdl.training.network import Network
from sparkdl.transforms import Scale
from sparkdl.tune import EnsembleModel, Search
from tests.ml.frames import arrays, by_id, frame, two_inputs
from tests.tune.spaces import GOOD, POOR, conf_of, data, define, study_of


def network(seed, units=3, **output):
    """Returns an untrained network whose weights depend on the seed."""
    made = Network(conf_of(GOOD, units, **output))
    rng = np.random.default_rng(seed)
    params = rng.normal(size=made.state.params.shape).astype(np.float32)
    return Network(made.conf, type(made.state)(**vars(made.state) | {"params": params}))


CLASSES = [network(seed) for seed in range(3)]
YES_OR_NO = [network(seed, 1, loss="sigmoid_cross_entropy") for seed in range(3)]
VALUES = [network(seed, 1, loss="mse") for seed in range(2)]
REFUSED = {
    "none": ([], {}, "EnsembleModel.networks must be Networks, got"),
    "voting": (CLASSES, {"voting": "loud"}, "EnsembleModel.voting must be one of .'soft', 'hard'"),
    "others": (CLASSES[:1] + VALUES, {}, "EnsembleModel.networks must take the same records"),
    "values": (VALUES, {"voting": "hard"}, "EnsembleModel.voting must be 'soft' or 'weighted'"),
    "too few": (CLASSES, {"weights": [1.0]}, "EnsembleModel.weights must be 3 numbers >= 0"),
    "below 0": (VALUES, {"weights": [1, -1]}, "EnsembleModel.weights must be 2 numbers >= 0"),
    "infinite": (VALUES, {"weights": [1, math.inf]}, "weights must be 2 numbers >= 0"),
    "without": (CLASSES, {"voting": "weighted"}, "EnsembleModel.weights must be 3 numbers >= 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_networks_that_cannot_vote_are_refused(name, sc):
    networks, options, message = REFUSED[name]
    with pytest.raises(ConfigError, match=message):
        EnsembleModel(networks, **options)


def test_predict_takes_arrays_alone(spark):
    with pytest.raises(ConfigError, match=r"features must be an array \(n, ...\).*, got DataFrame"):
        EnsembleModel(CLASSES).predict(frame(spark))


def test_networks_of_several_inputs_vote(spark, tmp_path):
    networks = [Network(replace(two_inputs(), seed=seed)) for seed in range(2)]
    x = vector_to_array("features")
    parts = frame(spark).select("id", F.slice(x, 1, 2).alias("a"), F.slice(x, 2, 3).alias("b"))
    model = EnsembleModel(networks).setFeaturesCol(["a", "b"])
    inputs = {"left": arrays()[0][:, :2], "right": arrays()[0][:, 1:]}
    expected = np.mean([one.predict(inputs) for one in networks], axis=0)
    np.testing.assert_allclose(model.predict(inputs), expected, rtol=1e-5)
    model.save(str(tmp_path / "model"))
    again = EnsembleModel.load(str(tmp_path / "model"))
    np.testing.assert_allclose(by_id(again.transform(parts), "probability")[0], expected, rtol=1e-5)


@pytest.mark.parametrize("voting", ["soft", "hard", "weighted"])
def test_its_columns_are_those_of_the_vote(voting, spark, tmp_path):
    weights = [0.2, 0.3, 0.9] if voting == "weighted" else None
    model = EnsembleModel(CLASSES, voting, weights, labels=["x", "y", "z"])
    (x, y), given = arrays(60), frame(spark)
    each = np.array([one.predict(x) for one in CLASSES], np.float64)
    if voting == "hard":
        each = np.eye(3)[each.argmax(axis=2)]
    expected = np.average(each, axis=0, weights=weights)
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-5)
    probability, prediction = by_id(model.transform(given), "probability", "prediction")
    np.testing.assert_allclose(probability, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(prediction, probability.argmax(axis=1))
    found = model.evaluate(given)
    assert found.accuracy == pytest.approx((prediction == y).mean())
    assert found.examples == 60
    if voting == "weighted":
        model.setPredictionCol("vote").write().save(str(tmp_path / "model"))
        loaded = EnsembleModel.load(str(tmp_path / "model"))
        assert (loaded.voting, loaded.weights) == (voting, tuple(weights))
        assert loaded.labels == ("x", "y", "z")
        np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
        assert loaded.getPredictionCol() == "vote" and loaded.uid == model.uid
        PipelineModel([loaded]).save(str(tmp_path / "pipeline"))
        [stage] = PipelineModel.load(str(tmp_path / "pipeline")).stages
        assert loaded.transformSchema(given.schema) == stage.transformSchema(given.schema)
        assert Network.load(tmp_path / "model" / "network-2").conf == CLASSES[2].conf


def test_weights_that_are_written_over_are_sent_again(spark):
    networks = [network(seed) for seed in (3, 4)]
    model, given = EnsembleModel(networks), frame(spark)
    [before] = by_id(model.transform(given), "probability")
    networks[0].state.params[:] = 0
    [after] = by_id(model.transform(given), "probability")
    expected = np.mean([one.predict(arrays(60)[0]) for one in networks], axis=0)
    np.testing.assert_allclose(after, expected, rtol=1e-5, atol=1e-7)
    assert np.abs(after - before).max() > 0.01


def test_another_model_on_disk_is_refused(sc, tmp_path):
    PipelineModel([]).save(str(tmp_path / "model"))
    with pytest.raises(CheckpointError, match="must hold a sparkdl.tune.EnsembleModel, got a"):
        EnsembleModel.load(str(tmp_path / "model"))


def test_a_yes_or_no_has_two_probabilities(spark):
    model = EnsembleModel(YES_OR_NO, "hard").setLabelCol("yes")
    given, (x, _) = frame(spark), arrays(60)
    probability, prediction, yes = by_id(model.transform(given), "probability", "prediction", "yes")
    share = np.mean([one.predict(x) > 0.5 for one in YES_OR_NO], axis=0)
    np.testing.assert_allclose(probability, np.hstack([1 - share, share]))
    assert model.evaluate(given).accuracy == pytest.approx((prediction == yes).mean())


LIMITS = {
    "soft": (CLASSES, [0.2, 0.9, 0.4], "label"),
    "hard": (CLASSES, [0.5, 1.0, 0.0], "label"),
    "weighted": (YES_OR_NO, [0.9, 0.4], "yes"),
}


@pytest.mark.parametrize("voting", LIMITS)
def test_thresholds_choose_as_in_other_models(voting, spark, tmp_path):
    networks, limits, label = LIMITS[voting]
    weights = [1.0, 2.0, 3.0] if voting == "weighted" else None
    plain = EnsembleModel(networks, voting, weights).setLabelCol(label)
    model = plain.copy().setThresholds(limits)
    given = frame(spark)
    p, prediction, truth = by_id(model.transform(given), "probability", "prediction", label)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(np.equal(limits, 0), np.inf, p / limits)
    np.testing.assert_array_equal(prediction, shares.argmax(axis=1))
    found, before = model.evaluate(given), plain.evaluate(given)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(truth, prediction))
    assert found.accuracy != before.accuracy
    assert found.auc() == pytest.approx(before.auc())
    assert found.loss == pytest.approx(before.loss, nan_ok=True)
    model.save(str(tmp_path / "model"))
    assert EnsembleModel.load(str(tmp_path / "model")).getThresholds() == limits
    with pytest.raises(ConfigError, match="thresholds must have one for each of"):
        model.setThresholds([1.0, 1.0, 1.0, 1.0]).transform(given)


def test_params_of_a_fit_are_undefined_without_one(sc):
    model = EnsembleModel(CLASSES)
    for name in "maxIter", "seed", "batchSize", "weightCol", "classWeights", "thresholds":
        assert model.hasParam(name) and not model.isDefined(name), name


def test_values_are_their_mean_after_preprocessing(spark):
    model = EnsembleModel(VALUES).setPreprocessing(Scale(factor=2.0)).setLabelCol("w")
    given, (x, _) = frame(spark), arrays(60)
    expected = np.mean([one.predict(2 * x)[:, 0] for one in VALUES], axis=0)
    prediction, truth = by_id(model.transform(given), "prediction", "w")
    np.testing.assert_allclose(prediction, expected, rtol=1e-5)
    np.testing.assert_allclose(model.predict(x)[:, 0], expected, rtol=1e-5)
    assert model.evaluate(given).mse == pytest.approx(((expected - truth) ** 2).mean(), rel=1e-5)
    assert "probability" not in model.transform(given).columns


def test_its_loss_is_the_networks_own(spark):
    nets = [network(seed, 1, loss="mae", loss_weight=2.0) for seed in range(2)]
    given, (x, _) = frame(spark), arrays(60)
    [truth] = by_id(given, "w")
    expected = [one.predict(x)[:, 0] for one in nets]
    for members in (nets[:1], nets):
        y = np.mean(expected[: len(members)], axis=0)
        found = EnsembleModel(members).setLabelCol("w").evaluate(given)
        assert found.loss == pytest.approx(2 * metrics.mean_absolute_error(truth, y), rel=1e-5)
        assert found.mse == pytest.approx(metrics.mean_squared_error(truth, y), rel=1e-5)


@pytest.mark.parametrize("limits", [None, [0.2, 0.9, 0.4]])
def test_rows_count_as_their_weights_say(limits, spark):
    given, model = frame(spark), EnsembleModel(CLASSES).setWeightCol("w")
    model = model if limits is None else model.setThresholds(limits)
    truth, p, said, w = by_id(model.transform(given), "label", "probability", "prediction", "w")
    found, weighted = model.evaluate(given), {"sample_weight": w}
    assert found.accuracy == pytest.approx(metrics.accuracy_score(truth, said, **weighted))
    loss = metrics.log_loss(truth, p / p.sum(axis=1, keepdims=True), **weighted) * w.mean()
    assert found.loss == pytest.approx(loss, rel=1e-5)
    areas = [metrics.roc_auc_score(truth == k, p[:, k], **weighted) for k in range(3)]
    assert found.auc() == pytest.approx(np.mean(areas))


def test_units_that_do_not_count_are_left_out_of_its_loss(spark):
    loss = SigmoidCrossEntropy(ignore_label=0)
    nets = [network(seed, 1, loss=loss) for seed in range(2)]
    given, (x, _) = frame(spark), arrays(60)
    y, [yes] = np.mean([one.predict(x)[:, 0] for one in nets], axis=0), by_id(given, "yes")
    found = EnsembleModel(nets).setLabelCol("yes").evaluate(given)
    assert found.loss == pytest.approx(-np.log(y[yes == 1]).mean(), rel=1e-5)


def test_hard_votes_have_no_loss(spark):
    found = EnsembleModel(CLASSES, "hard", labels=["x", "y", "z"]).evaluate(frame(spark))
    assert np.isnan(found.loss)
    for shown in (found, found.merge(found)):
        assert "loss" not in shown.figures() and "accuracy" in shown.figures()
        assert "loss" not in str(shown) and "nan" not in shown._repr_html_()


def test_a_search_gives_one_with_weights_by_the_figures(spark):
    search = Search(spark, define, study_of(POOR, GOOD), epochs=3, batch_size=10, device="cpu")
    search.fit(data(transform=Scale(factor=0.5)), 2, label="label")
    model = search.ensemble(2, voting="weighted")
    best, second = sorted(trial.value for trial in search.study.trials)
    assert model.weights == pytest.approx((1 / best, 1 / second))
    assert model.getPreprocessing() == Scale(factor=0.5)
    assert model.evaluate(frame(spark)).accuracy > 0.5
    assert search.ensemble(2, "weighted", weights=[3, 1]).weights == (3.0, 1.0)
