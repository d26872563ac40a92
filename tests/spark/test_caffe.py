"""A Caffe solver file is enough on Spark: its data, training, tests and snapshots."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe import CaffeSolver
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.workers.local import LocalWorkers
from tests.interop.caffe.solver_files import RECORDS, write_solver
from tests.spark.networks import plain
from tests.training.models import assert_equal

TEXT = "max_iter: 11 test_iter: 6 test_interval: 4 snapshot: 5"
MASTERS = {
    "all-reduce": AllReduceSGD(workers=2, updates_per_round=4),
    "averaging by the driver": ParameterAveraging(
        aggregation="driver", workers=2, averaging_frequency=3
    ),
}


@pytest.mark.parametrize("name", MASTERS)
def test_a_solver_file_is_enough(name, sc, tmp_path):
    """Weights, tests and snapshots equal those of processes on one machine."""
    folders = [tmp_path / place for place in ("here", "there")]
    for folder in folders:
        folder.mkdir()
    here, there = (write_solver(folder, TEXT) for folder in folders)
    local = CaffeSolver(here, MASTERS[name])
    with LocalWorkers(2, threads=1) as workers:
        wanted = local.fit(workers=workers)
    net = SparkNetwork(sc, str(there), MASTERS[name])
    history = net.fit()
    assert_equal(net.network.state, local.network.state)
    assert [one.iteration for one in history.validations] == [0, 4, 8]
    for one, other in zip(history.validations, wanted.validations, strict=True):
        assert one.validation.examples == 30
        assert one.validation.figures() == pytest.approx(other.validation.figures())
    rows = [row.asDict() for row in net.validations(history).collect()]
    assert [row.pop("iteration") for row in rows] == [0, 4, 8]
    figures = [one.validation.figures() for one in history.validations]
    assert rows == [{name: [value] for name, value in one.items()} for one in figures]
    names = [sorted(path.name for path in folder.glob("at_*")) for folder in folders]
    assert names[0] == names[1] and len(names[0]) == 6
    again = SparkNetwork(sc, there, MASTERS[name], snapshot=f"{folders[1]}/at_iter_5.solverstate")
    again.fit()
    assert_equal(again.network.state, net.network.state)


def test_data_may_be_an_rdd(sc, tmp_path):
    rng = np.random.default_rng(2)
    rows = [(rng.uniform(0, 255, (1, 3, 3)), i % 3) for i in range(RECORDS)]
    rdd = sc.parallelize(rows, 3)
    net = SparkNetwork(sc, write_solver(tmp_path, TEXT))
    history = net.fit(rdd, validation=rdd)
    assert [one.validation.examples for one in history.validations] == [RECORDS] * 3
    assert net.network.state.iteration == 11


BAD = {
    "no data": (lambda sc, path: SparkNetwork(sc, plain()).fit(), "must be given data"),
    "a snapshot of no solver": (
        lambda sc, path: SparkNetwork(sc, plain(), snapshot="here"),
        "for the path of a solver file",
    ),
    "data for other nets": (
        lambda sc, path: SparkNetwork(sc, path).fit(validation=[1, 2]),
        "must be data for 1 nets, got 2",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_go_together_is_refused(name, sc, tmp_path):
    act, words = BAD[name]
    with pytest.raises(ConfigError, match=words):
        act(sc, write_solver(tmp_path, TEXT))
