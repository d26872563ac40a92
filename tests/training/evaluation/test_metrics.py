"""Metrics of a user's own: their values, names and errors, in one process."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_absolute_error, roc_auc_score

from sparkdl.data import Batch
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import Dense, GraphBuilder, NetworkConf, Output
from sparkdl.nn.losses import Huber, Mse, SigmoidCrossEntropy
from sparkdl.training.evaluation import (
    Classification,
    MultiLabelEvaluation,
    Regression,
    gathered_scores,
)
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.evaluation.metrics import metrics_of
from sparkdl.training.network import Network
from tests.training.evaluation.own_metrics import (
    METRICS,
    ErrorRate,
    Unsendable,
    broken,
    expected,
    f2,
    hits,
    wordy,
)

CONF = NetworkConf(input_shape=(2,), layers=[Dense(units=4), Output(units=3)], seed=3)


def draw(n=300, seed=0):
    x = np.random.default_rng(seed).random((n, 2), np.float32)
    return x, (x[:, 0] * 2.99).astype(int)


def evaluate(metrics, conf=CONF, data=None):
    return Network(conf).evaluate(draw() if data is None else data, metrics=metrics)


def test_values_are_those_of_all_records():
    x, y = draw()
    found, plain = evaluate(METRICS), evaluate(None)
    own = expected(y, Network(CONF).predict(x))
    own |= {f"all/{name}": value for name, value in plain.figures().items()}
    assert found.figures() == pytest.approx(plain.figures() | own)
    assert all(type(value) is float for value in found.figures().values())
    assert found.confusion.tolist() == plain.confusion.tolist()
    assert "errors" in str(found) and "all/f1" in str(found)


@pytest.mark.parametrize("loss, labels", [("mse", (300, 3)), ("sigmoid_cross_entropy", (300, 3))])
def test_functions_get_the_labels_of_the_records(loss, labels):
    conf = NetworkConf(input_shape=(2,), layers=[Output(units=3, loss=loss)])
    seen = []

    def look(*arrays):
        seen.extend(arrays)
        return np.float32(1.5)

    x, y = draw()[0], np.random.default_rng(1).integers(0, 2, labels).astype(np.float32)
    found = evaluate({"look": look}, conf, (x, y))
    assert found.figures()["look"] == 1.5 and "look" in str(found)
    np.testing.assert_array_equal(seen[0], y)
    np.testing.assert_allclose(seen[1], Network(conf).predict(x), rtol=1e-5)


def test_a_sequence_names_metrics_by_themselves():
    assert metrics_of([ErrorRate, f2], CONF).names == ("ErrorRate", "f2")
    assert not metrics_of(None, CONF)


def copied(evaluator, evaluation):
    return pickle.loads(pickle.dumps(evaluation))


def restored(evaluator, evaluation):
    return evaluator.restore(evaluator.counts(evaluation))


@pytest.mark.parametrize("way", [copied, restored])
def test_counts_of_parts_add_up(way):
    own = metrics_of(METRICS, CONF)
    evaluator = Evaluator(CONF).with_metrics(own.counts)
    x, y = draw()
    scores = Network(CONF).predict(x)
    parts = []
    for part in (slice(0, 100), slice(100, 100), slice(100, 300)):
        one = evaluator.new()
        batch = scores[part], y[part], np.ones(len(y[part]))
        one.add(*batch)
        one.metrics.add(*batch)
        parts.append(way(evaluator, one))
    whole = parts[0].merge(parts[1]).merge(parts[2])
    own.compute(whole)
    assert whole.figures() | expected(y, scores) == pytest.approx(whole.figures())
    own.compute(whole)
    with pytest.raises(ConfigError, match=r"\['f2', 'hits'\] are functions: .* not kept; give"):
        whole.merge(parts[0])


def test_evaluations_with_other_metrics_do_not_merge():
    plain, own = evaluate(None), evaluate({"errors": ErrorRate})
    for one, other in ((plain, own), (own, plain), (own, evaluate({"other": ErrorRate}))):
        with pytest.raises(ConfigError, match="whose metrics differ: .*errors"):
            one.merge(other)


def test_scores_can_be_dropped():
    found = evaluate({"all": Classification(3)})
    before, figures = found.score_bytes, found.figures()
    assert before > evaluate(None).score_bytes
    found.drop_scores()
    assert not found.score_bytes and found.figures() == figures


def mae(labels, predictions):
    return np.abs(labels.reshape(predictions.shape) - predictions).mean()


class Inverse(Classification):
    def figures(self):
        return {"rate": 1 / self.examples}


def raises(labels, predictions):
    return undefined  # noqa: F821


WRONG = {
    "a name": ("accuracy", "metrics must be {name: metric}, got 'accuracy'"),
    "names": (["auc"], "a function .* -> float, got 'auc'; evaluations have the standard figures"),
    "no such output": (["auc"], r"got 'auc'; .* anyway, and outputs are \['output_1'\]"),
    "a name for a name": (
        {"x": "auc"},
        r"metrics\['x'\] must be .* an output.*, got 'auc'; outputs are \['",
    ),
    "no metric": ({"x": 5}, r"metrics\['x'\] must be a subclass of Evaluation.*, got 5"),
    "no name": ([lambda *_: 1.0], "one name each, got <function.*; give {name: metric}"),
    "one name twice": ([hits, hits], "one name each"),
    "a name that is none": ({1: hits}, "names that are texts, got 1"),
    "a known name": ({"auc": hits}, r"do not have yet, got \['auc'\]; those are \['loss', 'acc"),
    "an output alone": ("output_1", r"{name: metric}, got 'output_1'; give \['output_1'\]$"),
    "a figure of another": (
        {"output_1": "output_1", "output_1/loss": hits},
        r"metrics\['output_1'\] and metrics\['output_1/loss'\] must have .*'output_1/loss' of both",
    ),
    "a figure of two": (
        {"a": Classification, "a/accuracy": ErrorRate},
        r"metrics\['a'\] and metrics\['a/accuracy'\] must have .*'a/accuracy' of both; rename one",
    ),
    "another kind": ({"r": Regression}, r"metrics\['r'\]: predictions .* need labels .*, got \("),
    "other options": (
        {"m": MultiLabelEvaluation(2)},
        r"metrics\['m'\]: predictions must have shape \(n, 2\)",
    ),
    "raises": ({"broken": broken}, r"metrics\['broken'\] raised KeyError: 'threshold'"),
    "raises NameError": ([raises], r"metrics\['raises'\] raised NameError: .*undefined"),
    "a text": ([wordy], r"metrics\['wordy'\] must be a number, got 'good'"),
    "a yes": ({"yes": lambda *_: np.True_}, r"metrics\['yes'\] must be a number, got True"),
    "an array": ({"x": lambda y, p: p}, r"metrics\['x'\] must be a number, got array"),
    "a figure that needs examples": ({"r": Inverse}, r"\['r'\] without examples raised ZeroDiv"),
    "nothing": ({"x": lambda *_: None}, r"metrics\['x'\] must be a number, got None"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_metric_is_named(case):
    metrics, says = WRONG[case]
    with pytest.raises(ConfigError, match=says):
        evaluate(metrics)


def test_more_than_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(gathered_scores, "LIMIT", 1 << 10)
    says = r"metrics \['hits'\] need .* all records, which exceed 0 MB; give subclasses of Eval"
    with pytest.raises(DataError, match=says):
        evaluate([hits, ErrorRate])
    assert evaluate([ErrorRate]).figures()["ErrorRate"] > 0


def test_the_limit_is_noticed_where_it_is_passed(monkeypatch):
    """So a part that is too large does not go on, and sends nothing."""
    monkeypatch.setattr(gathered_scores, "LIMIT", 1 << 10)
    counts = metrics_of([hits, ErrorRate], CONF).counts.empty()
    batch = np.full((32, 3), 1 / 3, np.float32), np.zeros(32, np.int32), np.zeros(32, np.float32)
    for _ in range(2):
        counts.add(*batch)
    assert not counts.scores.is_exceeded
    with pytest.raises(DataError, match=r"metrics \['hits'\] need .*, which exceed 0 MB; give sub"):
        counts.add(*batch)


PARTLY = [
    (Mse(ignore_label=-9), 2),
    (Huber(ignore_label=-9), 3),
    (SigmoidCrossEntropy(ignore_label=-9), 1),
    (SigmoidCrossEntropy(ignore_label=-9), 2),
]


@pytest.mark.parametrize("loss, units", PARTLY, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_get_the_examples_whose_labels_are_all_known(loss, units, weighted):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(9, 2)), rng.integers(0, 2, (9, units))
    y[::4], y[1, 0] = -9, -9
    conf = NetworkConf(input_shape=(2,), layers=[Output(units=units, loss=loss)], seed=1)
    network, known = Network(conf), (y != -9).all(axis=1)
    columns = {"features": x.astype(np.float32), "labels": y.astype(np.float32)}
    columns |= {"weights": rng.random(9).astype(np.float32)} if weighted else {}
    batch = Batch(columns=columns, ids=np.arange(9, dtype=np.uint64))
    found = network.evaluate(
        batch, metrics={"own": mae, "class": Regression, "one": Regression(units)}
    )
    p = network.predict(columns["features"])[known]
    assert found.figures()["own"] == pytest.approx(abs(p - y[known]).mean(), rel=1e-5)
    options = {"sample_weight": columns["weights"][known]} if weighted else {}
    for name in ("class/mae", "one/mae"):
        theirs = mean_absolute_error(y[known], p, **options)
        assert found.figures()[name] == pytest.approx(theirs, rel=1e-5)
    assert found.examples == (y != -9).any(axis=1).sum()


def test_metrics_of_an_output_get_its_known_examples_alone():
    both = GraphBuilder(x=(2,))
    both.add(Output(units=2, loss=SigmoidCrossEntropy(ignore_label=-9)), "x", name="some")
    both.add(Output(units=2, loss="mse", loss_weight=2.0), "x", name="all")
    network, x = Network(both.conf(seed=1)), np.eye(2, dtype=np.float32)
    columns = {"features": x, "some": np.float32([[-9, 1], [0, 1]]), "all": x}
    batch = Batch(columns=columns, ids=np.arange(2, dtype=np.uint64))
    found = network.evaluate(batch, metrics={"own": mae, "some": "some"}, output="some")
    p = network.features(x, ["some"])["some"]
    assert found.figures()["own"] == pytest.approx(abs(p[1] - columns["some"][1]).mean(), rel=1e-5)
    columns["some"][1, 0] = -9
    found = network.evaluate(batch, metrics={"own": mae, "rest": Regression}, output="some")
    assert np.isnan(found.figures()["own"]) and found.examples == 2


def test_one_unit_without_a_label_is_no_example():
    """Its evaluation has all figures, against scikit-learn's over the examples with a label."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 2)).astype(np.float32), rng.integers(0, 2, 50).astype(np.float32)
    y[::3] = -9
    loss = SigmoidCrossEntropy(ignore_label=-9)
    network = Network(NetworkConf(input_shape=(2,), layers=[Output(units=1, loss=loss)], seed=1))
    found, known = network.evaluate((x, y)), y != -9
    p = network.predict(x)[known, 0].astype(np.float64)
    assert found.examples == known.sum()
    assert found.auc() == pytest.approx(roc_auc_score(y[known], p))
    assert found.accuracy == pytest.approx(((p >= 0.5) == y[known]).mean())
    assert found.loss == pytest.approx(log_loss(y[known], p), rel=1e-5)


def test_metrics_get_no_label_that_is_missing():
    x, y = np.zeros((4, 2), np.float32), np.float32([3, -9, 5, -9])
    loss = Mse(ignore_label=-9)
    conf = NetworkConf(input_shape=(2,), layers=[Output(units=1, loss=loss)], seed=1)
    assert evaluate({"own": mae}, conf, (x, y)).figures()["own"] == pytest.approx(4)


def test_metrics_that_cannot_travel_are_named():
    own = metrics_of({"lasting": ErrorRate, "stuck": Unsendable, "free": lambda *_: 1}, CONF)
    with pytest.raises(ConfigError, match=r"metrics\['stuck'\] must travel .* a lock stays"):
        own.check_sending(pickle.dumps)
    own = metrics_of({"lasting": ErrorRate, "free": lambda *_: 1}, CONF)
    own.check_sending(pickle.dumps)
    with pytest.raises(ConfigError, match=r"metrics\['free'\] must travel"):
        own.check_sending(pickle.dumps, functions=True)
