"""The examples with the largest losses are the same however an evaluation is distributed."""

import numpy as np
import pytest

from sparkdl.data import Arrays, Batch
from sparkdl.errors import ConfigError
from sparkdl.nn import Flatten, NetworkConf, Output
from sparkdl.training.evaluation.batch_evaluation import Evaluator, new_evaluation
from sparkdl.training.evaluation.wrong_examples import MOST
from sparkdl.training.network import Network

CONF = NetworkConf(input_shape=(1, 80, 80), layers=[Flatten(), Output(units=3)], seed=1)


@pytest.fixture(scope="module")
def spread():
    """Returns (evaluation of noisy images in one process, counts of its three parts, losses)."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 1, 80, 80)).astype(np.float32), rng.integers(0, 3, 300)
    net, source = Network(CONF), Arrays(x, y, records_per_split=100)
    evaluator, replica = Evaluator(CONF), net._load()
    parts = [evaluator.evaluate(replica, source.read(split)) for split in source.splits()]
    losses = replica.losses(Batch.of(x, y))[1]
    return net.evaluate(source), [evaluator.counts(part) for part in parts], losses


def test_they_are_those_with_the_largest_losses(spread):
    whole, _, losses = spread
    worst = np.argsort(-losses, kind="stable")[:MOST]
    places = [(one.number >> 40) * 100 + one.number % 2**40 for one in whole.wrong]
    assert places == worst.tolist()
    np.testing.assert_allclose([one.loss for one in whole.wrong], losses[worst], rtol=1e-5)


def test_counts_of_parts_have_those_of_the_whole(spread):
    whole, counts, _ = spread
    merged = new_evaluation(CONF)
    for arrays in counts[::-1]:
        merged = merged.merge(Evaluator(CONF).restore(arrays))
    assert list(merged.wrong) == list(whole.wrong) and len(whole.wrong) == MOST


def test_noisy_images_take_a_bounded_number_of_bytes(spread):
    _, counts, _ = spread
    assert all(
        max(x.nbytes for x in arrays if x.dtype == np.uint8) < MOST * 8000 for arrays in counts
    )


def test_a_setting_of_the_driver_keeps_records_out(spread, monkeypatch):
    """It does so whatever executors have collected, since their environment may differ."""
    _, counts, _ = spread
    for text, kept in (("0", 0), ("3", 3), ("50", 36)):
        monkeypatch.setenv("SPARKDL_WRONG_EXAMPLES", text)
        merged = new_evaluation(CONF)
        for arrays in counts:
            merged = merged.merge(Evaluator(CONF).restore(arrays))
        assert len(merged.wrong) == kept


@pytest.mark.parametrize("text", ["", "-1", "51", "many"])
def test_what_the_setting_must_be(text, monkeypatch):
    monkeypatch.setenv("SPARKDL_WRONG_EXAMPLES", text)
    with pytest.raises(
        ConfigError, match=r"SPARKDL_WRONG_EXAMPLES must be an integer in \[0, 50\]"
    ):
        new_evaluation(CONF)
