"""The comparison's arithmetic and processes, without any peer."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.cpu.load import Others, used
from tests.benchmarks.cpu.measures import sides
from tests.benchmarks.cpu.pairs import compared, in_turns, opened
from tests.benchmarks.cpu.processes import (
    AS_RUN,
    OURS,
    Failed,
    Process,
    Steps,
    command,
    variables,
)
from tests.benchmarks.cpu.row import Row
from tests.benchmarks.cpu.workloads import WORKLOADS
from tests.benchmarks.peers.cuda_stubs import Needs, contents, read_headers, read_symbols
from tests.support.waiting import until

FOUND = {OURS: [1.0, 2.0, 4.0], AS_RUN: [3.0, 6.0, 8.0], "tf.function": [2.0, 2.0, 4.0]}


class Side:
    """Returns its figures one by one and logs the order of measurements."""

    log = []

    def __init__(self, name, facts=None):
        self.name, self.facts, self.figures = name, facts, iter(FOUND[name])
        self.closed = False

    def measure(self, burst):
        self.log.append(self.name)
        return next(self.figures)

    def close(self):
        self.closed = True


def test_ratios_are_medians_of_pairs():
    result = compared(FOUND)
    assert result["ours"] == 2.0
    assert result["best"] == "tf.function"
    assert result["against_best"] == 1.0
    assert result["against_as_run"] == 3.0  # median of 3, 3, 2


def test_missing_sides_have_no_ratio():
    alone = compared({OURS: [1.0]})
    assert (alone["ours"], alone.get("against_best"), alone["against_as_run"]) == (1.0, None, None)
    without = compared({AS_RUN: [1.0]})
    assert (without["ours"], without["against_best"]) == (None, None)


def test_each_round_begins_with_another_side():
    Side.log.clear()
    assert in_turns({name: Side(name) for name in FOUND}, 3, 0) == FOUND
    firsts = Side.log[::3]
    assert sorted(firsts) == sorted(FOUND)


def test_a_side_that_fails_is_left_out_and_named():
    def make(name):
        if name == AS_RUN:
            raise Failed("no compiler")
        return Side(name)

    running, failed = opened(make, FOUND)
    assert list(running) == [OURS, "tf.function"]
    assert failed == {AS_RUN: "no compiler"}


def test_sides_with_other_parameters_are_refused():
    made = []

    def make(name):
        made.append(Side(name, {"parameters": 10 + (name == AS_RUN)}))
        return made[-1]

    with pytest.raises(Failed, match="as many parameters each, got .*11"):
        with sides(make, FOUND):
            pass
    assert all(side.closed for side in made)


def test_a_row_marks_the_bars_it_misses():
    failed = {"torch.compile": "no compiler"}
    bars = {"best": 1.25, "as_run": 2.0, "share": 0.7}
    figures = {"found": FOUND, "result": compared(FOUND), "failed": failed, "reached": 0.75}
    text = str(Row(title="LeNet", threads=2, scale=1.0, **figures, **bars))
    for part in ("2.00 ms", "tf.function", "1.00x (MISSED bar 1.25x)", "3.00x (bar 2x)"):
        assert part in text
    assert "0.75 (bar 0.7)" in text
    assert text.endswith("\n  torch.compile failed: no compiler")


def test_a_row_marks_the_limit_it_misses():
    row = {"title": "start", "threads": 2, "found": FOUND, "result": compared(FOUND), "unit": "s"}
    assert "2.00 s (MISSED bar 1.50 s)" in str(Row(**row, scale=1.0, limit=1.5))
    assert "2.00 s (bar 2.00 s)" in str(Row(**row, scale=1.0, limit=2.0))


@pytest.mark.slow
def test_a_process_answers_with_the_seconds_of_its_steps():
    steps = Steps(OURS, "mlp_32", 1)
    assert steps.facts["parameters"] == 1_863_690
    assert 0 < steps.measure(0.01) < 10
    assert steps.resident > 1e7
    steps.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="the load is read as Linux tells it")
def test_the_work_of_others_is_told_from_our_own():
    busy = "sum(i for i in range(10**9))"
    with subprocess.Popen([sys.executable, "-c", busy]) as worker:
        stranger, own = Others([]), Others([worker.pid])
        until(lambda: used(worker.pid) > 0.5)
        assert stranger.cores() > own.cores() + 0.02
        worker.kill()


@pytest.mark.slow
def test_a_process_that_fails_says_why():
    with pytest.raises(Failed, match="KeyError: 'nothing'"):
        Process(command(OURS, "nothing"), variables(1))


@pytest.mark.parametrize("name", WORKLOADS)
def test_data_is_the_same_each_time(name):
    workload = WORKLOADS[name]
    (x, y), (again, _) = workload.arrays(), workload.arrays()
    assert (x == again).all()
    assert len(x) == len(y) == workload.batch
    assert x.shape[1:] == workload.shape
    assert y.max() < workload.classes


def test_stubs_give_what_the_libraries_ask_for():
    needs = Needs(set(), {"libcudart.so.13": set()}, {None: set(), "libcudart.so.13": set()})
    headers = "  NEEDED   libcudart.so.13\n  NEEDED   libc.so.6\n"
    headers += "  required from libcudart.so.13:\n    0x0a 0x00 05 libcudart.so.13\n"
    read_headers(headers, needs)
    read_symbols("   U cudaMalloc@libcudart.so.13\n   U cuInit\n   U printf\n", needs)
    assert needs.libraries == {"libcudart.so.13"}
    assert contents(needs, "libcudart.so.13") == (
        {"libcudart.so.13": {"cudaMalloc"}},
        {"cuInit"},
    )
