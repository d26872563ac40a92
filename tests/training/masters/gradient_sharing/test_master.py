"""The contract of GradientSharing alone; that of all masters is in test_base.py."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.exchange.codecs import FixedThreshold, OneBit, Threshold, TopK
from sparkdl.nn import Adam, Sgd
from sparkdl.training.masters.gradient_sharing.master import GradientSharing
from sparkdl.training.network import Network
from tests.training.master_table import SMALL, assert_close
from tests.training.problems import Partitions, perceptron

WRONG = [
    ({"codec": "TwoBits"}, "codec must be one of .*did you mean 'TwoBit'"),
    ({"codec": None}, "GradientSharing.codec must be one of Half, .*, got None"),
    ({"share": "weights"}, "GradientSharing.share must be 'updates' or 'gradients', got 'weights'"),
    ({"combine": "max"}, "GradientSharing.combine must be 'mean' or 'sum', got 'max'"),
    ({"updates_per_round": 0}, "GradientSharing.updates_per_round must be an integer >= 1, got 0"),
]
ALL = GradientSharing(codec=TopK(1.0), updates_per_round=3, **SMALL)


def fit(master, workers, optimizer, epochs=2):
    """Fits with two workers, which have equally many full minibatches."""
    network = Network(perceptron(optimizer=optimizer))
    history = network.fit(Partitions([24, 24]), epochs, master, workers)
    return network.state, history


@pytest.mark.parametrize("options, complaint", WRONG, ids=[str(options) for options, _ in WRONG])
def test_what_cannot_work_is_refused(options, complaint):
    with pytest.raises(ConfigError, match=complaint):
        GradientSharing(**options)


def test_a_codec_is_also_known_by_its_name_or_options():
    named = {"type": "Threshold", "rule": {"type": "FixedThreshold", "threshold": 0.1}}
    assert GradientSharing(codec=named).codec == Threshold(FixedThreshold(0.1))
    assert GradientSharing(codec="OneBit").codec == OneBit()


@pytest.mark.slow
@pytest.mark.parametrize("share", ["updates", "gradients"])
def test_a_sum_is_as_many_means_as_there_are_workers(share, crews):
    """Both workers' blocks have the same length, so all steps have equal weight."""
    sums, _ = fit(replace(ALL, share=share, combine="sum"), crews(2), Sgd(learning_rate=0.1))
    means, _ = fit(replace(ALL, share=share), crews(2), Sgd(learning_rate=0.2))
    assert_close(sums.params, means.params)


def test_optimizer_state_is_the_mean_of_the_workers(crews):
    """Adam's first moments are linear in the gradients, and all workers get their mean."""
    updates, _ = fit(ALL, crews(2), Adam(learning_rate=1e-9))
    gradients, _ = fit(replace(ALL, share="gradients"), crews(2), Adam(learning_rate=1e-9))
    n = len(updates.params)
    assert_close(updates.slots[:n], gradients.slots[:n], 1e-3)
    assert np.abs(updates.slots[:n]).max() > 0


def test_one_bit_sends_a_fraction_of_the_bytes(crews):
    """Even for few parameters, where each message has a header and two levels per short chunk."""
    sent = []
    for codec in (TopK(1.0), OneBit()):
        _, history = fit(
            replace(ALL, codec=codec, share="gradients"), crews(2), Sgd(learning_rate=0.1)
        )
        sent.append(sum(report.bytes_sent for report in history.rounds))
    assert 0 < sent[1] < sent[0]
