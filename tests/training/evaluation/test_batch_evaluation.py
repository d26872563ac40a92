"""Evaluation of one output of several, compared with scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from sparkdl.data import Arrays, Batch
from sparkdl.errors import ConfigError, DataError
from sparkdl.evaluations import Classification, MultiLabelEvaluation, Regression
from sparkdl.nn import (
    LSTM,
    AddedLoss,
    Comparison,
    Dense,
    GraphBuilder,
    LastTimeStep,
    LossLayer,
    Merge,
    NetworkConf,
    Output,
    RnnOutput,
    zoo,
)
from sparkdl.nn.layers.outputs.base import REDUCTIONS
from sparkdl.nn.losses import Ctc, Dice, Huber, Mse
from sparkdl.training.evaluation import MeanLoss
from sparkdl.training.evaluation.metrics import metrics_of
from sparkdl.training.network import Network
from sparkdl.training.workers.this_process import ThisProcess

N = 50


def branches():
    """Returns a network of three outputs with labels, one without, and a loss of another layer."""
    build = GraphBuilder(left=(2,), right=(3,))
    build.add(Dense(units=4, activation="tanh"), "left", name="dense")
    build.add(AddedLoss(), "dense", name="added")
    build.add(Merge(), "added", "right", name="both")
    build.add(Output(units=3, loss_weight=2.0), "both", name="kind")
    build.add(Output(units=1, loss="sigmoid_cross_entropy", loss_weight=0.5), "both", name="yes")
    build.add(Output(units=2, loss="mse", loss_weight=-0.25), "both", name="size")
    build.add(Dense(units=2), "both", name="again")
    build.add(Comparison(loss="mse"), "again", "left", name="same")
    return build.conf(seed=3, l2=0.1)


def columns_of(rng):
    """Returns labelled records of `branches`, by column."""
    return {
        "left": rng.normal(size=(N, 2)).astype(np.float32),
        "right": rng.normal(size=(N, 3)).astype(np.float32),
        "kind": rng.integers(0, 3, N).astype(np.int32),
        "yes": rng.integers(0, 2, (N, 1)).astype(np.float32),
        "size": rng.normal(size=(N, 2)).astype(np.float32),
    }


def batch_of(columns):
    return Batch(columns=columns, ids=np.arange(N, dtype=np.uint64))


def of_classes(labels, p, w):
    return {
        "loss": metrics.log_loss(labels, p / p.sum(axis=1, keepdims=True), sample_weight=w),
        "accuracy": metrics.accuracy_score(labels, p.argmax(1), sample_weight=w),
    }


def of_yes_or_no(labels, p, w):
    return {
        "loss": metrics.log_loss(labels, p, sample_weight=w),
        "accuracy": metrics.accuracy_score(labels, p >= 0.5, sample_weight=w),
        "auc": metrics.roc_auc_score(labels, p, sample_weight=w),
    }


def of_values(labels, y, w):
    return {
        "loss": metrics.mean_squared_error(labels, y, sample_weight=w),
        "mae": metrics.mean_absolute_error(labels, y, sample_weight=w),
    }


THEIRS = {
    "kind": (Classification, of_classes),
    "yes": (MultiLabelEvaluation, of_yes_or_no),
    "size": (Regression, of_values),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("output", THEIRS)
def test_an_output_has_its_own_figures_whatever_its_loss_weight(output, weighted, rng):
    columns, (kind, theirs) = columns_of(rng), THEIRS[output]
    network = Network(branches())
    y = network.features({name: columns[name] for name in ("left", "right")}, output)[output]
    w = rng.choice([0.5, 1.0, 4.0], N).astype(np.float32) if weighted else None
    given = columns if w is None else columns | {"weights": w}
    evaluation = network.evaluate(batch_of(given), output=output)
    wanted = theirs(columns[output], y.astype(np.float64), w)
    wanted["loss"] *= 1 if w is None else w.mean()  # ours is the mean of losses times weights
    assert type(evaluation) is kind and evaluation.examples == N
    found = evaluation.figures()
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("output", THEIRS)
def test_outputs_have_weights_of_their_own(output, shared, rng):
    columns, theirs = columns_of(rng), THEIRS[output][1]
    own = {name: rng.choice([0.5, 1.0, 4.0], N).astype(np.float32) for name in THEIRS}
    given = columns | {f"{name}_weights": w for name, w in own.items()}
    given |= {"weights": rng.choice([1.0, 2.0], N).astype(np.float32)} if shared else {}
    network = Network(branches())
    y = network.features({name: columns[name] for name in ("left", "right")}, output)[output]
    w = own[output] * given.get("weights", np.float32(1))
    wanted = theirs(columns[output], y.astype(np.float64), w)
    wanted["loss"] *= w.mean()
    found = network.evaluate(batch_of(given), output=output).figures()
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-4)


def test_weights_of_outputs_are_factors_of_their_losses_alone(rng):
    columns, w = columns_of(rng), rng.random((3, N)).astype(np.float32)
    network = Network(branches())
    own = dict(zip(THEIRS, w, strict=True))
    given = columns | {f"{name}_weights": one for name, one in own.items()}
    plain = network.score_examples(batch_of(columns))
    weighted = network.score_examples(batch_of(given))
    replica, batch = network._load(), batch_of(columns)
    lost = {name: replica.losses(batch, name)[1] for name in THEIRS}
    factors = {"kind": 2.0, "yes": 0.5, "size": -0.25}
    change = sum(factors[name] * (own[name] - 1) * lost[name] for name in THEIRS)
    np.testing.assert_allclose(weighted - plain, change, rtol=1e-3, atol=1e-5)
    half = columns | {"yes_weights": own["yes"]}
    change = 0.5 * (own["yes"] - 1) * lost["yes"]
    np.testing.assert_allclose(
        network.score_examples(batch_of(half)) - plain, change, rtol=1e-3, atol=1e-5
    )


def test_by_default_the_main_output_has_the_loss_of_the_whole_network(rng):
    batch, network = batch_of(columns_of(rng)), Network(branches())
    whole, own = network.evaluate(batch), network.evaluate(batch, output="kind")
    assert whole.accuracy == own.accuracy
    each = network.score_examples(batch)
    assert whole.loss == pytest.approx(each.mean(), rel=1e-5)
    assert whole.loss != pytest.approx(own.loss, rel=0.1)


def test_metrics_and_wrong_examples_are_those_of_the_output(rng):
    columns, seen = columns_of(rng), {}

    def keep(labels, predictions):
        seen.update(labels=labels, predictions=predictions)
        return 1.0

    own = {"keep": keep, "counted": Regression}
    network = Network(branches())
    evaluation = network.evaluate(batch_of(columns), output="size", metrics=own)
    inputs = {name: columns[name] for name in ("left", "right")}
    y = network.features(inputs, "size")["size"]
    np.testing.assert_array_equal(seen["labels"], columns["size"])
    np.testing.assert_allclose(seen["predictions"], y, rtol=1e-6)
    assert evaluation.figures()["counted/mae"] == evaluation.mae
    worst = ((columns["size"] - y) ** 2).mean(1).argmax()
    assert evaluation.wrong[0].number == worst
    assert evaluation.wrong[0].truth == ", ".join(f"{x:.4g}" for x in columns["size"][worst])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_metric_may_be_an_output(weighted, rng):
    columns, network = columns_of(rng), Network(branches())
    columns |= {"weights": rng.random(N).astype(np.float32)} if weighted else {}
    batch, plain = batch_of(columns), {}
    plain |= network.evaluate(batch, metrics=[]).figures()
    for name, output in {"size": "size", "binary": "yes"}.items():
        own = network.evaluate(batch, output=output).figures()
        plain |= {f"{name}/{figure}": value for figure, value in own.items()}
    found = network.evaluate(batch, metrics={"size": "size", "binary": "yes"})
    assert found.figures() == pytest.approx(plain)
    named = network.evaluate(batch, metrics=["size", "yes"], output="kind").figures()
    assert named["size/mae"] == pytest.approx(plain["size/mae"])
    assert "size/mae" in str(found) and f"{plain['size/mae']:.4f}" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_by_default_all_outputs_have_their_figures(weighted, rng):
    """The main output's, then those of the others; none beside a chosen output."""
    columns, network = columns_of(rng), Network(branches())
    columns |= {"weights": rng.random(N).astype(np.float32)} if weighted else {}
    batch = batch_of(columns)
    found, plain = network.evaluate(batch), network.evaluate(batch, metrics={}).figures()
    for name in ("yes", "size"):
        own = network.evaluate(batch, output=name).figures()
        plain |= {f"{name}/{figure}": value for figure, value in own.items()}
    assert found.figures() == pytest.approx(plain) and "size/mae" in str(found)
    assert not any("/" in name for name in network.evaluate(batch, output="kind").figures())
    history = network.fit(batch, validation=batch)
    assert history.epochs[-1].validation.figures() == pytest.approx(
        network.evaluate(batch).figures(), rel=1e-5
    )
    history = network.fit(batch, validation=batch, metrics=[])
    assert not any("/" in name for name in history.epochs[-1].validation.figures())
    history = network.fit(
        batch,
        validation=batch,
        evaluate=lambda _, __: MeanLoss().add(np.zeros((1, 1)), np.zeros(1), [1.0]),
    )
    assert type(history.epochs[-1].validation) is MeanLoss


def test_all_outputs_are_evaluated_by_one_pass_forward(rng, monkeypatch):
    network, passes = Network(branches()), []
    replica = network._load()
    run = replica._run_in_use
    monkeypatch.setattr(replica, "_run_in_use", lambda *args: passes.append(1) or run(*args))
    network.evaluate(batch_of(columns_of(rng)))
    assert len(passes) == 1


def test_an_output_of_one_figure_has_it_by_both_names(rng):
    build = GraphBuilder(x=(4, 3))
    build.add(Output(units=2), "x", name="kind")
    build.add(LossLayer(loss=Ctc(label_length=2), loss_weight=0.5), "x", name="text")
    network = Network(build.conf())
    x = rng.normal(size=(N, 4, 3)).astype(np.float32)
    labels = {"kind": rng.integers(0, 2, N), "text": rng.integers(1, 3, (N, 2))}
    labels = {name: column.astype(np.int32) for name, column in labels.items()}
    batch = batch_of({"features": x, **labels})
    found = network.evaluate(batch, metrics=["text"]).figures()["text/loss"]
    assert found == pytest.approx(network.evaluate(batch, output="text").loss)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_steps_of_an_output_count_by_its_own_mask(reduction, rng):
    build = GraphBuilder(x=(6, 2))
    build.add(LSTM(units=3), "x", name="lstm")
    build.add(LastTimeStep(), "lstm", name="last")
    build.add(Output(units=2, loss_weight=3.0), "last", name="kind")
    tags = RnnOutput(units=4, reduction=reduction, loss_weight=0.5)
    build.add(tags, "lstm", name="tags")
    network = Network(build.conf(seed=3))
    mask = (np.arange(6) < rng.integers(1, 7, (N, 1))).astype(np.float32)
    columns = {"features": rng.normal(size=(N, 6, 2)).astype(np.float32), "mask": mask}
    batch = batch_of(columns)
    columns |= {"kind": rng.integers(0, 2, N), "tags": rng.integers(0, 4, (N, 6))}
    columns |= {name: columns[name].astype(np.int32) for name in ("kind", "tags")}
    y = network.replica.forward(batch, ["tags"])["tags"][mask > 0]
    wanted = of_classes(columns["tags"][mask > 0], y.astype(np.float64), None)
    found = network.evaluate(batch_of(columns), output="tags")
    assert found.examples == mask.sum()
    assert (found.loss, found.accuracy) == pytest.approx(tuple(wanted.values()), rel=1e-4)
    assert network.evaluate(batch_of(columns), output="kind").examples == N


def dense():
    return NetworkConf(input_shape=(4,), layers=[Dense(units=3), Output(units=3, name="out")])


def draw_dense(rng):
    return {"features": rng.normal(size=(N, 4)).astype(np.float32), "labels": rng.integers(0, 3, N)}


def tables():
    return zoo.deep_fm(("user", "item"), 2, dimension=2, units=(4,))


def draw_tables(rng):
    ids = {name: rng.integers(0, 9, (N, 1)) for name in ("user", "item")}
    x = rng.normal(size=(N, 2)).astype(np.float32)
    return {"numbers": x, **ids, "labels": rng.integers(0, 2, (N, 1)).astype(np.float32)}


@pytest.mark.parametrize("make, draw", [(dense, draw_dense), (tables, draw_tables)])
def test_the_only_output_has_the_same_figures_by_its_name(make, draw, rng):
    network, batch = Network(make()), batch_of(draw(rng))
    [place] = network.conf.outputs
    named = network.evaluate(batch, output=place.name)
    assert named.figures() == pytest.approx(network.evaluate(batch).figures(), rel=1e-6)


def test_evaluations_of_other_outputs_do_not_merge(rng):
    network, batch = Network(branches()), batch_of(columns_of(rng))
    first, second, other = (
        network.evaluate(batch, metrics={"x": name}) for name in ("size", "size", "yes")
    )
    assert first.merge(second).examples == 2 * N
    message = "outputs of metrics differ: {'x': 'size'} and {'x': 'yes'}"
    with pytest.raises(ConfigError, match=message):
        first.merge(other)


def test_an_error_of_an_output_beside_the_main_one_names_it(rng, monkeypatch):
    def fail(*given):
        raise DataError("labels must be finite")

    monkeypatch.setattr(Regression, "add", fail)
    with pytest.raises(ConfigError, match=r"metrics\['x'\]: labels must be finite"):
        Network(branches()).evaluate(batch_of(columns_of(rng)), metrics={"x": "size"})


def unlabelled():
    """Returns a network whose main output reads no labels, beside one that reads them."""
    build = GraphBuilder(x=(2,))
    build.add(Dense(units=2), "x", name="again")
    build.add(Comparison(loss="mse", loss_weight=2.0), "again", "x", name="same")
    build.add(Output(units=3), "x", name="kind")
    return build.conf(seed=3)


class NoWorkers(ThisProcess):
    def load(self, *given):
        raise AssertionError("records were read")


def test_a_main_output_without_labels_is_refused_with_those_that_have_them(rng):
    network, x = Network(unlabelled()), rng.normal(size=(N, 2)).astype(np.float32)
    batch = batch_of({"features": x, "labels": rng.integers(0, 3, N).astype(np.int32)})
    message = r"^same reads no labels, so .* with; give output='kind' to evaluate, or one of "
    message += r"\['kind'\] the largest loss_weight$"
    for own in None, ["kind"]:
        with pytest.raises(ConfigError, match=message):
            network.evaluate(batch, metrics=own)
    with pytest.raises(ConfigError, match=message):
        metrics_of(["kind"], network.conf)  # before a fit
    with pytest.raises(ConfigError, match=message):
        network.fit(batch, workers=NoWorkers(), validation=batch)
    assert network.evaluate(batch, output="kind").examples == N


def test_the_score_of_an_output_is_its_loss(rng):
    network, batch = Network(branches()), batch_of(columns_of(rng))
    assert network.score(batch, output="size") == network.evaluate(batch, output="size").loss
    assert network.score(batch) == network.evaluate(batch).loss


@pytest.mark.parametrize("output", ["knd", "same", "dense", "", 3])
def test_an_unknown_output_is_refused_with_the_known_ones(output, rng):
    message = r"^output must be one of \['kind', 'yes', 'size'\] or None, got "
    for options in {}, {"metrics": [Regression]}:
        with pytest.raises(ConfigError, match=message):
            Network(branches()).evaluate(batch_of(columns_of(rng)), output=output, **options)


@pytest.mark.parametrize("loss", [Mse(ignore_label=-9), Huber(ignore_label=-9)], ids=str)
def test_examples_without_a_label_are_not_evaluated(loss):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 3)).astype(np.float32), rng.normal(size=50).astype(np.float32)
    y[::3] = -9
    conf = NetworkConf(input_shape=(3,), layers=[Output(units=1, loss=loss)], seed=1)
    net = Network(conf)
    evaluation, known = net.evaluate((x, y)), y != -9
    predictions = net.predict(x)[known, 0]
    assert evaluation.examples == known.sum()
    assert evaluation.mse == pytest.approx(
        metrics.mean_squared_error(y[known], predictions), rel=1e-5
    )
    assert evaluation.r2 == pytest.approx(metrics.r2_score(y[known], predictions), rel=1e-5)
    replaced = replace(conf, layers=[replace(conf.layers[0], loss=type(loss)())])
    alone = Network(replaced, net.state).evaluate((x[known], y[known]))
    assert evaluation.loss == pytest.approx(alone.loss, rel=1e-5)


def test_steps_of_which_no_number_is_known_are_not_evaluated():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 8, 3, 2)).astype(np.float32)
    y[:, 1], y[0, 0, 0] = -9, -9
    layers = [LossLayer(loss=Mse(ignore_label=-9))]
    found = Network(NetworkConf(input_shape=(3, 2), layers=layers)).evaluate((x, y))
    terms = np.where(y == -9, 0, (x - y) ** 2).mean(axis=2)
    assert (found.examples, found.loss) == (16, pytest.approx(terms.sum() / 16, rel=1e-5))


def test_an_output_beside_one_of_the_same_labels_has_its_loss_alone(rng):
    build = GraphBuilder(features=(4,))
    build.add(Dense(units=3), "features", name="scores")
    build.add(LossLayer(loss="softmax_cross_entropy", labels="class"), "scores", name="main")
    build.add(LossLayer(loss=Dice(), labels="class", loss_weight=0.5), "scores", name="overlap")
    network = Network(build.conf(seed=1))
    x = rng.normal(size=(N, 4)).astype(np.float32)
    data = Arrays({"features": x, "class": rng.integers(0, 3, N)})
    found = network.evaluate(data).figures()
    assert [name for name in found if "/" in name] == ["overlap/loss", "overlap/score"]
    assert "accuracy" in found
