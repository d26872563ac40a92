"""Training and inference on executors without a GPU although one was requested."""

from importlib.util import find_spec

import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.spark import SparkNetwork
from sparkdl.spark.jobs.job import clear_errors
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark.networks import arrays, plain
from tests.spark.test_network import USES

WITHOUT_A_GPU = {
    "together": AllReduceSGD(device="cuda"),
    "rounds": ParameterAveraging(aggregation="driver", device="cuda"),
}


WHY = "cuda needs CuPy: pip install 'sparkdl-hadoop"


@pytest.fixture(autouse=True)
def no_cupy():
    if find_spec("cupy"):
        pytest.skip("CuPy is there, and perhaps a GPU")


@pytest.mark.parametrize("name", WITHOUT_A_GPU)
def test_without_one_a_fit_says_why_before_it_trains(name, sc):
    net = SparkNetwork(sc, plain(), WITHOUT_A_GPU[name])
    with pytest.raises(UnsupportedError, match=WHY):
        net.fit(arrays(12))
    assert net.network.state.iteration == 0


@pytest.mark.parametrize("name", USES)
def test_without_one_a_use_says_why(name, sc):
    net = SparkNetwork(sc, plain())
    with pytest.raises(UnsupportedError, match=WHY), clear_errors("a job"):
        USES[name](net, arrays(4), "cuda")
    assert net.devices == {}


def test_a_use_asks_for_what_the_master_does(sc):
    net = SparkNetwork(sc, plain(), WITHOUT_A_GPU["rounds"])
    with pytest.raises(UnsupportedError, match=WHY):
        net.evaluate(arrays(4))
