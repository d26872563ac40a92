"""A network without Spark: training, prediction, evaluation, features, saving and loading."""

import numpy as np
import pandas
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.transforms import Scale
from sparkdl.errors import CheckpointError, ConfigError, DataError
from sparkdl.nn import Dense, Momentum, NetworkConf, Output, Sgd
from sparkdl.training.evaluation.batch_evaluation import BATCH
from sparkdl.training.inputs.sources import as_source
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network, first_state
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.support.processes import children
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron, softmax_net, whole_net

MASTER = ParameterAveraging(aggregation="driver", batch_size_per_worker=8, averaging_frequency=1)


@pytest.fixture
def x(rng):
    return rng.normal(size=(20, 4)).astype(np.float32)


@pytest.fixture
def labels(rng):
    return rng.integers(0, 3, 20)


@pytest.fixture(scope="module")
def trained(crews):
    network = Network(whole_net(optimizer=Momentum(learning_rate=0.1)))
    network.fit(Partitions([40]), 3, MASTER, crews(2))
    return network


def by_hand(network, x):
    """Returns (hidden layer, prediction) of the perceptron."""
    p = network.conf.params_layout.views(network.state.params)
    h = np.tanh(x @ p["dense_1/W"] + p["dense_1/b"])
    z = np.exp(h @ p["output_1/W"] + p["output_1/b"])
    return h, z / z.sum(axis=1, keepdims=True)


def test_predicts_what_its_weights_say(x):
    network = Network(perceptron())
    hidden, probabilities = by_hand(network, x)
    np.testing.assert_allclose(network.predict(x), probabilities, rtol=1e-5)
    found = network.features(x, ["output_1", "dense_1"])
    assert list(found) == ["output_1", "dense_1"]
    np.testing.assert_allclose(found["dense_1"], hidden, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found["output_1"], network.predict(x))


@pytest.mark.parametrize("n", [1, 2, 3, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH + 7])
def test_predicts_any_number_of_examples(trained, n, rng):
    x = rng.normal(size=(n, 4)).astype(np.float32)
    found = trained.predict(x)
    assert found.shape == (n, 3) and found.dtype == np.float32
    for i in {0, n // 2, n - 1}:
        np.testing.assert_allclose(found[i], trained.predict(x[i : i + 1])[0], rtol=1e-4)


@pytest.mark.parametrize("batch_size", [1, 7, 20, 64, 1000, np.int64(7)])
def test_the_size_of_batches_makes_no_difference(trained, batch_size, x):
    wanted = trained.predict(x)
    found = trained.predict(x, batch_size=batch_size)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_array_equal(found, trained.predict(x, batch_size=batch_size))
    parts = trained.features(x, ["dense_1"], batch_size=batch_size)
    np.testing.assert_allclose(parts["dense_1"], trained.features(x, "dense_1")["dense_1"], 1e-4)


@pytest.mark.parametrize("batch_size", [0, -1, 1.5, "all", True])
def test_batches_that_hold_nothing_are_refused(trained, batch_size, x):
    message = f"batch_size must be an integer >= 1, got {batch_size!r}; leave it out"
    with pytest.raises(ConfigError, match=message):
        trained.predict(x, batch_size=batch_size)


def test_a_state_that_is_written_over_is_predicted_with(x):
    network = Network(perceptron())
    before = network.predict(x)
    network.state.params[...] *= 2
    np.testing.assert_allclose(network.predict(x), by_hand(network, x)[1], rtol=1e-5)
    assert not np.array_equal(network.predict(x), before)


FORMS = {
    "lists": lambda x: x.tolist(),
    "float64": lambda x: x.astype(float),
    "flat or not": lambda x: x.reshape(20, 2, 2),
}


@pytest.mark.parametrize("name", FORMS)
def test_predicts_from_whatever_holds_the_numbers(trained, name, x):
    np.testing.assert_allclose(trained.predict(FORMS[name](x)), trained.predict(x), rtol=1e-6)


def test_bytes_and_images(rng):
    conf = NetworkConf(input_shape=(1, 2, 2), layers=[Output(units=3)])
    x = rng.integers(0, 4, (5, 1, 2, 2)).astype(np.uint8)
    network = Network(conf)
    np.testing.assert_array_equal(network.predict(x), network.predict(np.float32(x)))
    np.testing.assert_array_equal(network.predict(x), network.predict(x.reshape(5, 4)))


WRONG = {
    "too few numbers": (np.zeros((3, 5)), "record 0: features must have 4 numbers, got 5"),
    "one example, not in a row": (np.zeros(4), "features must have 4 numbers, got 1"),
    "not finite": (np.array([[0] * 4, [0, 0, 0, np.inf]]), "record 1: .*finite, got inf at 3"),
    "words": (np.array([["a"] * 4]), "features must be numbers, got 'a'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_features_that_do_not_fit_are_refused(trained, name):
    features, message = WRONG[name]
    with pytest.raises(DataError, match=message):
        trained.predict(features)
    with pytest.raises(DataError, match=message):
        trained.evaluate((features, np.zeros(len(features), int)))


def test_nothing_to_predict_is_refused(trained):
    with pytest.raises(ConfigError, match="features must hold at least one example, got none"):
        trained.predict(np.zeros((0, 4)))


def test_layers_that_do_not_exist_are_refused_by_name(trained, x):
    with pytest.raises(ConfigError, match="no layer 'dense_2'; did you mean 'dense_1'?"):
        trained.features(x, ["dense_1", "dense_2"])
    with pytest.raises(ConfigError, match="layers must be some of .*'dense_1'.*, got none"):
        trained.features(x, [])


def test_one_layer_needs_no_list(trained, x):
    (name,) = found = trained.features(x, "dense_1")
    np.testing.assert_array_equal(found[name], trained.features(x, ["dense_1"])["dense_1"])


def test_evaluates_what_it_predicts(trained, x, labels):
    result, p = trained.evaluate((x, labels)), trained.predict(x)
    assert result.examples == 20
    assert result.accuracy == np.mean(p.argmax(axis=1) == labels)
    loss = -np.log(p[np.arange(20), labels]).mean()
    assert result.loss == pytest.approx(loss, rel=1e-4)
    assert trained.score((x, labels)) == result.loss


def test_evaluates_numbers(rng, x):
    conf = softmax_net(layers=[Output(units=2, loss="mse")])
    y = rng.normal(size=(20, 2))
    network = Network(conf)
    result = network.evaluate((x, y))
    assert result.loss == pytest.approx(((network.predict(x) - y) ** 2).mean(), rel=1e-4)
    assert result.mse == pytest.approx(result.loss, rel=1e-4)


def test_evaluates_any_kind_of_data(trained, x, labels):
    wanted = trained.evaluate((x, labels)).figures()
    for data in (Batch.of(x, labels), Arrays(x, labels, records_per_split=3)):
        assert trained.evaluate(data).figures() == pytest.approx(wanted)


BAD_DATA = {
    "no labels": (lambda x, y: Batch.of(x), DataError, "has no column 'labels'"),
    "one label too few": (lambda x, y: (x, y[1:]), DataError, "20 features .*, got 19"),
    "a label too large": (lambda x, y: (x, y + 1), DataError, r"label must be in \[0, 3\), got 3"),
    "half a label": (lambda x, y: (x, y / 2), DataError, "label must be a whole number, got"),
    "features alone": (
        lambda x, y: x,
        ConfigError,
        "must be a Batch, .* or a source, got numpy.ndarray; give them as one pair: ",
    ),
    "a frame of pandas": (
        lambda x, y: pandas.DataFrame(x),
        ConfigError,
        r"source, got pandas\.\S*DataFrame; give its columns as arrays: \(df.names.\.to_numpy",
    ),
    "three things": (lambda x, y: (x, y, y), ConfigError, "got tuple"),
    "nothing": (lambda x, y: None, ConfigError, "got NoneType"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_data_that_cannot_be_used_are_refused(trained, crews, name, x, labels):
    change, error, message = BAD_DATA[name]
    with pytest.raises(error, match=message):
        trained.evaluate(change(x, np.append(labels[:-1], 2)))
    with pytest.raises(error, match=message):
        Network(trained.conf).fit(change(x, np.append(labels[:-1], 2)), 1, MASTER, crews(2))
    if name not in ("features alone", "a frame of pandas", "three things", "nothing"):
        with pytest.raises(error, match=message):
            validation = change(x, np.append(labels[:-1], 2))
            options = {"validation": validation}
            Network(trained.conf).fit((x, labels), 1, MASTER, crews(2), **options)


def test_without_records_nothing_is_evaluated_or_trained(trained, crews):
    nothing = np.zeros((0, 4)), np.zeros(0, int)
    with pytest.raises(DataError, match="there are no records to train on"):
        Network(trained.conf).fit(nothing, 1, MASTER, crews(2))
    with pytest.raises(DataError, match="there are no records to evaluate on"):
        trained.evaluate(nothing)
    weightless = {"features": np.zeros((3, 4)), "weights": np.zeros(3)}
    with pytest.raises(DataError, match="no records to evaluate on: the weight of each is 0"):
        trained.evaluate(Arrays(weightless, np.zeros(3, int)))


def test_a_transform_is_part_of_the_data(crews, rng):
    x, labels = rng.integers(0, 256, (20, 4)).astype(np.uint8), rng.integers(0, 3, 20)
    conf = perceptron()
    stored = Arrays(x, labels, transform=Scale(factor=1 / 256))
    ready = Arrays(np.float32(x) * np.float32(1 / 256), labels)
    networks = [Network(conf) for _ in range(2)]
    for network, data in zip(networks, (stored, ready)):
        network.fit(data, 2, MASTER, crews(2))
    assert_equal(networks[0].state, networks[1].state)
    assert networks[0].evaluate(stored).figures() == networks[0].evaluate(ready).figures()


@pytest.mark.slow
def test_fits_arrays_with_a_few_words(x, labels):
    """The shortest use: the default master, and workers of its own that are gone afterwards."""
    before = children()
    network = Network(perceptron())
    history = network.fit((x, labels), epochs=2)
    assert [report.examples for report in history.epochs] == [20, 20]
    assert network.state.epoch == 2 and history.rounds[0].workers == 2
    assert not children() - before


@pytest.mark.slow
def test_more_workers_may_be_asked_for(x, labels):
    master = ParameterAveraging(
        aggregation="driver", batch_size_per_worker=4, averaging_frequency=1, workers=3
    )
    history = Network(perceptron()).fit((x, labels), master=master)
    assert {report.workers for report in history.rounds} == {3, 2}


def test_what_was_trained_is_what_predicts(crews):
    """The replica of an earlier prediction loads the new weights."""
    data = Partitions([40])
    network = Network(perceptron(optimizer=Sgd(learning_rate=1.0)))
    before = network.predict(data.features)
    network.fit(data, 2, MASTER, crews(2))
    after = network.predict(data.features)
    assert np.abs(after - before).max() > 0.05
    np.testing.assert_allclose(after, by_hand(network, data.features)[1], rtol=1e-4)


def test_saved_and_loaded_it_is_the_same(trained, x, labels, tmp_path):
    trained.save(tmp_path / "model")
    loaded = Network.load(tmp_path / "model")
    assert loaded.conf == trained.conf
    assert_equal(loaded.state, trained.state)
    np.testing.assert_array_equal(loaded.predict(x), trained.predict(x))
    assert loaded.evaluate((x, labels)).figures() == trained.evaluate((x, labels)).figures()


def test_a_model_that_is_there_is_replaced_only_if_told_so(trained, tmp_path):
    other = Network(trained.conf)
    other.save(tmp_path / "model")
    with pytest.raises(CheckpointError, match=r"model holds a model; overwrite=True replaces it"):
        trained.save(tmp_path / "model")
    assert_equal(Network.load(tmp_path / "model").state, other.state)
    trained.save(tmp_path / "model", overwrite=True)
    assert_equal(Network.load(tmp_path / "model").state, trained.state)


def test_it_says_where_it_is_used_and_takes_no_other_word(trained, tmp_path):
    trained.save(tmp_path / "model")
    assert Network.load(tmp_path / "model", device="cpu").device == "cpu"
    with pytest.raises(ConfigError, match=r"Network.device must be one of .*, got 'gpu'"):
        Network.load(tmp_path / "model", device="gpu")


def test_a_loaded_network_goes_on_as_the_one_that_was_saved(crews, tmp_path):
    conf, data = whole_net(optimizer=Momentum(learning_rate=0.1)), Partitions([20, 11])
    network = Network(conf)
    network.fit(data, 1, MASTER, crews(2))
    network.save(tmp_path / "model")
    loaded = Network.load(tmp_path / "model")
    for each in (network, loaded):
        each.fit(data, 2, MASTER, crews(2))
    assert_equal(loaded.state, network.state)
    assert loaded.state.epoch == 3


class Keep(Listener):
    """Keeps the weights after each round."""

    def __init__(self):
        self.weights = []

    def on_round(self, report, state):
        self.weights.append(state.params.astype(float))


@pytest.mark.slow
def test_averaged_weights_are_a_network_of_their_own(crews, x, tmp_path):
    conf = whole_net(optimizer=Momentum(learning_rate=0.1, ema_decay=0.9))
    network, keep = Network(conf), Keep()
    np.testing.assert_array_equal(network.with_averaged_weights().predict(x), network.predict(x))
    network.fit(Partitions([40]), 1, MASTER, crews(1), listeners=[keep])
    network.transform = Scale(factor=0.5)
    before, averaged = network.predict(x), network.with_averaged_weights()
    factors = 0.9 ** np.arange(len(keep.weights) - 1.0, -1, -1)
    expected = factors @ np.array(keep.weights) / factors.sum()
    np.testing.assert_allclose(averaged.state.params, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(averaged.state.buffers, network.state.buffers)
    assert averaged.transform == network.transform and averaged.history is None
    assert np.abs(averaged.predict(x) - before).max() > 1e-3
    np.testing.assert_array_equal(network.predict(x), before)
    network.save(tmp_path / "model")
    loaded = Network.load(tmp_path / "model")
    assert_equal(loaded.with_averaged_weights().state, averaged.state)
    for one in (network, loaded):
        one.fit(Partitions([40]), 1, MASTER, crews(1))
    assert_equal(loaded.with_averaged_weights().state, network.with_averaged_weights().state)


def test_without_an_average_there_are_no_averaged_weights():
    with pytest.raises(
        ConfigError, match=r"Sgd.ema_decay must be a number in \(0, 1\) for an aver"
    ):
        Network(perceptron()).with_averaged_weights()


def test_a_checkpoint_is_a_model_that_predicts(crews, x, tmp_path):
    network = Network(perceptron())
    checkpoints = Checkpoints(path=tmp_path)
    network.fit(Partitions([20]), 1, MASTER, crews(2), checkpoints=checkpoints)
    loaded = Network.load(tmp_path / f"round-{network.state.rounds:08d}")
    np.testing.assert_array_equal(loaded.predict(x), network.predict(x))


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="nowhere"):
        Network.load(tmp_path / "nowhere")


def test_it_starts_with_the_values_of_its_conf():
    conf = perceptron(seed=8)
    network = Network(conf)
    assert_equal(network.state, first_state(conf))
    assert network.state.seed == 8 and network.state.rounds == 0


def test_layers_are_given_names_to_ask_for(x):
    conf = softmax_net(layers=[Dense(units=2, name="narrow"), Output(units=3)])
    assert Network(conf).features(x, ["narrow"])["narrow"].shape == (20, 2)


def test_a_source_stays_as_it_is():
    data = Partitions([3])
    assert as_source(data) is data


def test_an_ignored_label_is_no_class_to_train_or_evaluate_on(x, labels, crews):
    loss = {"type": "softmax_cross_entropy", "ignore_label": -1}
    network = Network(softmax_net(layers=[Output(units=3, loss=loss)]))
    known = network.evaluate((x, labels))
    more = np.concatenate([x, x[:5]]), np.concatenate([labels, np.full(5, -1)])
    found = network.evaluate(more)
    assert found.examples == 20 and found.loss == pytest.approx(known.loss)
    network.fit(more, 1, MASTER, crews(2))
    with pytest.raises(DataError, match=r"label must be in \[0, 3\) or -1, got -2"):
        network.evaluate((x[:1], np.array([-2])))
