"""The oracle itself: it detects errors, tolerates rounding, and survives crashes."""

import os
import signal
from math import inf

import numpy as np
import pytest

from sparkdl.nn import BatchNorm, Conv2D, Dense, NetworkConf, Output
from tests.oracle import comparison
from tests.oracle.case import Case
from tests.oracle.children import SPAWNED, outcomes
from tests.oracle.comparison import compare
from tests.oracle.computing import Computation
from tests.oracle.outcomes import Outcome, judged
from tests.oracle.reduction import reduced
from tests.support.processes import forking

NETWORK = NetworkConf(
    input_shape=(2, 4, 4),
    layers=[Conv2D(filters=3, kernel_size=3), BatchNorm(), Dense(units=4), Output(units=3)],
)
CASE = Case(conf=NETWORK, batch=17)


class Wrong(Computation):
    """Computes with a wrong gradient of the dense layer on oneDNN."""

    def __call__(self):
        found = super().__call__()
        if self.replica.backend == "onednn" and "gradient/dense_1/W" in found:
            found["gradient/dense_1/W"][0, 0] += 1e-4 * np.abs(found["gradient/dense_1/W"]).max()
        return found


def test_a_right_backend_passes_with_a_bias_that_has_no_gradient():
    verdict = compare(CASE)
    assert not verdict.differences and verdict.margin < 1


@pytest.mark.slow
def test_an_error_of_one_entry_in_ten_thousand_is_seen(monkeypatch):
    monkeypatch.setattr(comparison, "Computation", Wrong)
    assert [found.name for found in compare(CASE).differences] == ["gradient/dense_1/W"]


@pytest.mark.slow
def test_a_case_that_fails_is_made_smaller(monkeypatch):
    monkeypatch.setattr(comparison, "Computation", Wrong)
    monkeypatch.setattr(comparison, "MANY", 4)  # each failing case takes all the runs
    monkeypatch.setattr(comparison, "MOST", 4)
    layers = [Conv2D(filters=2, kernel_size=2), BatchNorm(), Dense(units=2), Output(units=2)]
    case = Case(conf=NetworkConf(input_shape=(1, 3, 3), layers=layers), batch=2)
    smaller = reduced(judged(case), seconds=inf)  # ends when nothing is left to try
    kinds = [layer["type"] for layer in smaller.case["conf"]["layers"]]
    assert smaller.failed and smaller.case["batch"] == 1
    assert "Dense" in kinds and not {"Conv2D", "BatchNorm"} & set(kinds)


def dies_at_the_second(connection, seed, indices):
    for index in indices:
        connection.send(index)
        if index == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        connection.send(Outcome(index, "same"))
    connection.send(None)


@pytest.mark.slow
@pytest.mark.parametrize("processes, starting", [(1, SPAWNED), (2, forking)], ids=["one", "two"])
def test_a_process_that_dies_is_replaced_and_its_case_told(processes, starting):
    came = outcomes(1, 4, processes, work=dies_at_the_second, starting=starting)
    found = {one.index: one for one in came}
    assert {index: one.kind for index, one in found.items()} == {
        0: "same",
        1: "crashed",
        2: "same",
        3: "same",
    }
    assert found[1].told == f"exit code {-signal.SIGSEGV}" and found[1].case
