"""A small character model memorizes a text and continues it."""

import numpy as np
import pytest

from sparkdl.data import Characters, TextSequences
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import LSTM, Adam, NetworkConf, RnnOutput
from sparkdl.training.generation import apply_temperature, generate
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.workers.local import LocalWorkers

VERSE = "the quick brown fox jumps over a lazy dog. "


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Returns (network, characters, history) after 25 epochs on the repeated verse."""
    path = tmp_path_factory.mktemp("text") / "verse.txt"
    path.write_text(VERSE * 60)
    characters = Characters.of_file(path)
    source = TextSequences(path, characters, steps=86, records_per_split=1000)
    layers = [LSTM(units=32), RnnOutput(units=len(characters))]
    shape = (86, len(characters))
    options = {"optimizer": Adam(learning_rate=0.02), "tbptt": (43, 43), "seed": 1}
    net = Network(NetworkConf(input_shape=shape, layers=layers, **options))
    with LocalWorkers(1) as workers:
        master = ParameterAveraging(batch_size_per_worker=8)
        history = net.fit(source, 25, master, workers, validation=source)
    return net, characters, history


@pytest.mark.slow
def test_it_has_learned_the_text(learned):
    history = learned[2]
    losses = [epoch.loss for epoch in history.epochs]
    assert losses[0] > 2 and losses[-1] < 0.2


def test_it_goes_on_with_the_text(learned):
    net, characters, _ = learned
    assert generate(net, characters, VERSE[:20], 43, temperature=0.2) == (VERSE * 2)[20:63]


def test_the_seed_decides(learned):
    net, characters, _ = learned
    texts = [generate(net, characters, "the", 40, temperature=3.0, seed=s) for s in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert len(texts[0]) == 40


def test_the_length_may_be_numpys(learned):
    net, characters, _ = learned
    assert len(generate(net, characters, "the", np.int64(3))) == 3


def test_a_low_temperature_takes_the_likeliest():
    p = np.array([0.2, 0.5, 0.3], np.float32)
    np.testing.assert_allclose(apply_temperature(p, 1.0), p, rtol=1e-6)
    np.testing.assert_allclose(apply_temperature(p, 0.5), p**2 / (p**2).sum(), rtol=1e-6)
    np.testing.assert_allclose(apply_temperature(p, 1e-3), [0, 1, 0], atol=1e-12)


REFUSED = [
    ({"start": ""}, ConfigError, "a start of at least one character"),
    ({"start": "€"}, DataError, "got '€'"),
    ({"length": -1}, ConfigError, "an integer length >= 0, got -1"),
    ({"length": 1.5}, ConfigError, "an integer length >= 0, got 1.5"),
    ({"length": True}, ConfigError, "an integer length >= 0, got True"),
    ({"temperature": 0}, ConfigError, "a temperature above 0, got 0"),
]


@pytest.mark.parametrize("options, kind, message", REFUSED, ids=[r[2] for r in REFUSED])
def test_refuses(learned, options, kind, message):
    net, characters, _ = learned
    with pytest.raises(kind, match=message):
        generate(net, characters, **({"start": "the"} | options))
