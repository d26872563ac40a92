"""The comparison's arithmetic and our process, without any peer."""

from tests.benchmarks.cpu.processes import AS_RUN, OURS
from tests.benchmarks.forward.sides import Predictions, fastest
from tests.benchmarks.forward.table import NAMES, parser

FOUND = {OURS: [2.0, 3.0], AS_RUN: [6.0, 5.0], "onnxruntime": [4.0, 3.0]}


def test_ratios_are_those_of_the_fastest():
    result = fastest(FOUND)
    assert (result["ours"], result["best"]) == (2.0, "onnxruntime")
    assert (result["against_best"], result["against_as_run"]) == (1.5, 2.5)


def test_missing_sides_have_no_ratio():
    assert "best" not in fastest({OURS: [1.0]})
    assert fastest({OURS: [1.0], "onnxruntime": [2.0]})["against_as_run"] is None
    assert fastest({AS_RUN: [1.0]})["ours"] is None


def test_all_workloads_are_measured_unless_some_are_asked_for():
    assert tuple(parser().parse_args([]).only) == NAMES
    assert parser().parse_args(["--only", "lenet"]).only == ["lenet"]


def test_our_process_answers_with_the_seconds_of_its_predictions():
    side = Predictions(OURS, "mlp_32", 1)
    assert side.facts["parameters"] == 1_863_690
    assert 0 < side.measure(0.01) < 10
    side.close()
