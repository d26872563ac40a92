"""A fit of a network makes another one only where the driver evaluates."""

from types import SimpleNamespace

import numpy as np

from sparkdl.training.fit.network_fit import evaluation_options
from sparkdl.training.network import Network
from tests.training.problems import perceptron

DATA = np.ones((2, 4), np.float32), np.zeros(2, int)


def options_of(resident, made):
    """Returns the options of a fit whose network notes in `made` that another one was made."""

    class Counted(Network):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    master = SimpleNamespace(resident=resident, device="cpu")
    return evaluation_options(Counted(perceptron()), master, DATA, None)


def test_workers_that_stay_evaluate_without_a_network_of_the_driver():
    made = []
    options = options_of(True, made)
    assert "validation" in options and len(made) == 1


def test_the_driver_makes_one_network_for_all_its_evaluations():
    made = []
    options = options_of(False, made)
    state = made[0].state
    results = [options["evaluate"](state) for _ in range(3)]
    assert [result.examples for result in results] == [2, 2, 2]
    assert "validation" not in options and len(made) == 2
