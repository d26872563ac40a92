"""`bench gpu` without a GPU: its arithmetic, and its run as far as possible."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.nn import NetworkConf, Output
from tests.benchmarks.cpu.processes import Failed, Process
from tests.benchmarks.gpu import correctness, nccl, our_networks, our_worker, sides, table
from tests.benchmarks.gpu.correctness import Finding, beyond, checks, distance, small, tried
from tests.benchmarks.gpu.crowd import Checker, findings
from tests.benchmarks.gpu.sides import COPY, OURS, PRODUCT, Measured, measured
from tests.benchmarks.gpu.workloads import ADAM_PARAMETERS, WORKLOADS
from tests.benchmarks.peers.environment import ROOT
from tests.support.cuda.host_driver import HostDriver
from tests.support.cuda.nccl_backend import made
from tests.support.cuda.on_host import require_compiler
from tests.support.zoo_networks import OF_ARRAYS

ON_HOST = "tests.support.cuda.backend"
SECONDS = {OURS: [1.0, 2.0, 4.0], "eager": [3.0, 6.0, 8.0], "graph": [2.0, 2.0, 4.0]}
PASSES = [(40, 280), (10, 1400)]
FACTS = {OURS: {"parameters": 100, "passes": PASSES, "memory": 1e9}, "graph": {"memory": 2e9}}
FACTS |= {PRODUCT: {"flops": 100}, COPY: {"bytes": 2800}}


@pytest.fixture
def host(monkeypatch):
    require_compiler()
    monkeypatch.setitem(base.MODULES, "cuda", ON_HOST)


def test_parameters_are_those_of_the_published_networks():
    counts = {n: our_networks.configuration(w).parameter_count for n, w in WORKLOADS.items()}
    assert counts["adam"] == ADAM_PARAMETERS
    assert counts["resnet50"] == 25_557_032
    assert counts["gpt2"] == 124_439_808 + 50_257 * 768 + 50_257  # GPT-2's, and an output layer


def test_bars_are_against_the_best_mode_or_the_one_that_is_named():
    row = Measured("resnet50", SECONDS, FACTS, {})
    assert row.best() == "graph"
    assert row.bars() == [("x torch graph", 1.0, 1.2), ("images/s", 128.0, 4_000)]
    assert Measured("lenet", SECONDS, FACTS, {}).bars() == [("x torch eager", 3.0, 5.0)]


def test_shares_of_the_peak_the_bandwidth_and_the_roofline():
    seconds = SECONDS | {PRODUCT: [1.0, 1.0, 1.0], COPY: [1.0, 1.0, 1.0]}
    row = Measured("adam", seconds, FACTS, {})
    assert row.bandwidth() == 0.5
    assert row.peak() == 0.25
    assert row.roofline() == (0.4 + 0.5) / 2  # the first pass by its FLOPs, the other by its bytes
    assert row.shares() == {
        "updates/s": 0.5,
        "of the peak": 0.25,
        "of the roofline": 0.45,
        "x torch's memory": 0.5,
    }


def test_what_is_read_from_storage_is_beside_what_lies_on_the_device():
    row = Measured("lmdb", {OURS: [2.0]}, {OURS: {"synthetic": 0.5}}, {})
    assert row.bars() == []
    assert row.shares() == {"images/s": 256.0, "of the synthetic": 0.25}
    assert "256.00 images/s  0.25 of the synthetic" in table.line(row)


def test_what_is_missing_has_no_figure():
    row = Measured("gpt2", {}, {}, {OURS: "no GPU"})
    assert [figure for _, figure, _ in row.bars()] == [None, None]
    assert row.peak() is None
    assert "sparkdl failed: no GPU" in table.line(row)


def test_a_missed_bar_is_marked():
    line = table.line(Measured("resnet50", SECONDS, FACTS, {}))
    assert "1.00 x torch graph (MISSED bar 1.2)" in line
    assert "sparkdl 1.0 GB  graph 2.0 GB" in line


def test_a_process_leaves_no_files(monkeypatch):
    words = (
        "import os; open(os.environ['TMPDIR'] + '/one', 'w')\nprint('{\"steps\": 1}', flush=True)"
    )
    made = []

    def process(command, environment, limit):
        made.append(environment["TMPDIR"])
        return Process([sys.executable, "-c", words], environment, limit)

    monkeypatch.setattr(sides, "Process", process)
    side = sides.Side("lenet", OURS, 60)
    assert os.listdir(made[0]) == ["one"]
    with pytest.raises(Failed, match="no word"):
        side.measure(0.1)
    sides.Side("lenet", OURS, 60).close()
    assert not any(map(os.path.exists, made))


class Side:
    """A test double that fails in some modes."""

    closed = 0

    def __init__(self, workload, mode, limit):
        if mode == "compile":
            raise Failed("no compiler")
        self.mode, self.facts, self.count = mode, {"steps": 1}, 0

    def measure(self, burst):
        self.count += 1
        if self.mode == "graph" and self.count == 2:
            raise Failed("out of memory")
        return 2.0 if self.mode == OURS else 3.0

    def close(self):
        Side.closed += 1


def test_what_fails_is_told_of_and_the_others_go_on():
    row = measured("lenet", ["eager", "compile", "graph"], 3, 0.1, time.monotonic() + 60, Side)
    assert row.failed == {"compile": "no compiler", "graph": "out of memory"}
    assert row.seconds[OURS] == [2.0] * 3 and row.seconds["graph"] == [3.0]
    assert row.bars() == [("x torch eager", 1.5, 5.0)] and row.ratio("graph") == 1.5
    assert Side.closed == 4  # the failed one was already closed


def test_without_time_nothing_begins():
    row = measured("lenet", ["eager"], 3, 0.1, time.monotonic() - 1, Side)
    assert row.failed[OURS] == "there was no time left for it" and row.seconds == {}


def test_a_row_that_cannot_be_made_is_one_that_says_so(monkeypatch, capsys):
    def broken(*words):
        raise ValueError("a fault of ours")

    monkeypatch.setattr(table, "measured", broken)
    report = {"rows": []}
    table.measure(report, "lenet", table.parser().parse_args([]), time.monotonic() + 60)
    assert report["rows"] == [
        {"workload": "lenet", "failed": {"all": "ValueError('a fault of ours')"}}
    ]
    assert "a fault of ours" in capsys.readouterr().out


@pytest.mark.slow
def test_operations_are_looked_at_in_each_type(host):
    found = [tried(*check) for check in checks(["MatMul True False", "MaxPool", "Sigmoid"])]
    assert [f.dtype for f in found[::3]] == ["float32", "bfloat16", "float16"]
    assert all(f.good and f.same for f in found), [*map(str, found)]


@pytest.mark.slow
def test_networks_are_looked_at(host, monkeypatch):
    small = {"symbols": 5, "steps": 4, "width": 8, "depth": 1, "heads": 2}
    monkeypatch.setitem(correctness.SMALL, "transformer", small)
    found = tried("network", "transformer", "float32")
    assert found.good, str(found)


def test_what_rounding_does_by_itself_is_no_error():
    expected, x, y = np.array([3.0, 4.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    calm, shaken = expected + 5e-7 * x, expected + 0.5 * y  # relative differences of 1e-7 and 0.1
    assert beyond(1e-4, expected + 0.05 * x, expected, calm) == pytest.approx(0.01)
    assert beyond(1e-4, expected + 0.05 * x, expected, shaken) == pytest.approx(1e-6)
    assert beyond(1e-4, expected + 2.5 * x, expected, expected + 0.05 * y) == pytest.approx(5e-4)
    assert beyond(1e-4, np.nan * x, expected, shaken) == float("inf")


def test_networks_of_the_zoo_are_made_small():
    sizes = {name: small(name, "float32").parameter_count for name in OF_ARRAYS}
    assert len(sizes) == 12 and max(sizes.values()) < 50e6


def test_what_is_wrong_is_found_and_told(monkeypatch, host):
    monkeypatch.setattr(correctness, "distance", lambda found, expected: 0.5)
    finding = tried("operation", "Sigmoid", "float32")
    assert not finding.good
    assert str(finding).startswith("WRONG  float32")
    monkeypatch.setattr(correctness, "distance", lambda found, expected: 1 / 0)
    finding = tried("operation", "Sigmoid", "float32")
    said = "ZeroDivisionError: division by zero (test_gpu.py:"
    assert finding.error is None and finding.said.startswith(said)


def test_other_bits_from_a_graph_are_wrong():
    finding = Finding("Sum", "float32", 0.0, same=False)
    assert not finding.good and "other bits from the graph" in str(finding)


class Double:
    """A test double of a checker, whose findings are all good."""

    def __init__(self):
        self.closed = False

    def find(self, check, limit):
        return Finding(*check[1:], 0.0, same=True)

    def close(self):
        self.closed = True


def test_all_checks_have_findings_also_those_without_time():
    some, made = checks(["Sigmoid", "MaxPool"]), []

    def make():
        made.append(Double())
        return made[-1]

    found = list(findings(some, time.monotonic() + 60, make, 2))
    assert sorted(f.name for f in found) == ["MaxPool"] * 3 + ["Sigmoid"] * 3
    assert all(f.good for f in found) and all(d.closed for d in made)
    [*late] = findings(some, time.monotonic() - 1, make, 1)
    assert {f.said for f in late} == {"there was no time left for it"}


@pytest.mark.slow
def test_a_checker_is_a_process_that_is_made_anew_when_it_ends(host):
    checker = Checker(ON_HOST)
    try:
        assert checker.find(("operation", "Sigmoid", "float32")).good
        checker.process.process.kill()
        found = checker.find(("operation", "Sigmoid", "float32"))
        assert found.error is None and "its process ended" in found.said
        assert checker.find(("operation", "Sigmoid", "bfloat16")).good
    finally:
        checker.close()


def test_none_must_be_where_none_is():
    assert distance([1.0, float("nan")], [1.0, 2.0]) == float("inf")
    assert distance([1.0, 3.0], [1.0, 2.0]) == 0.5


@pytest.fixture
def tiny(monkeypatch, host):
    """Makes workloads train a network of images (1, 6, 6)."""
    conf = NetworkConf(input_shape=(1, 6, 6), layers=[Output(units=10)])
    monkeypatch.setattr(our_worker, "configuration", lambda workload: conf)
    monkeypatch.setattr(our_worker, "STEPS", 2)
    driver = base.get("cuda").device.driver
    monkeypatch.setattr(driver, "allocate", driver.allocate)  # a worker replaces it
    return {"batch": 3, "shape": (1, 6, 6), "classes": 10}


def test_a_step_is_a_replay_of_what_was_captured(tiny):
    driver = base.get("cuda").device.driver
    call, facts = our_worker.training(replace(WORKLOADS["lenet"], **tiny))
    driver.log.clear()
    call()
    replays = [one for one in driver.log if one[0] == "replay"]
    assert len(replays) == facts["steps"] and facts["memory"] > 4 * facts["parameters"]
    assert not [one for one in driver.log if one[0] == "launch"]
    assert all(flops >= 0 and size > 0 for flops, size in facts["passes"])


def test_memory_that_is_given_back_is_not_held():
    driver = HostDriver()
    held = our_worker.Held(driver)
    one, other = driver.allocate(100), driver.allocate(1000)
    part = one[10:20]
    del one, other
    assert held.bytes == 100
    del part
    assert held.bytes == 0


@pytest.mark.slow
def test_images_come_from_an_lmdb(monkeypatch, tiny, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    call, facts = our_worker.from_lmdb(replace(WORKLOADS["lmdb"], **tiny, stored=8))
    assert facts["steps"] == 8 and facts["synthetic"] > 0
    driver = base.get("cuda").device.driver
    for _ in range(2):
        driver.log.clear()
        call()
        launches = [one[1] for one in driver.log if one[0] == "launch"]
        assert launches.count("decode") == 8


BARE = """
import sys
for name in ("pyspark", "pytest", "jax", "scipy", "optax", "pyarrow", "lmdb", "fastavro", "h5py"):
    sys.modules[name] = None
import tests.benchmarks.gpu.our_worker, tests.benchmarks.gpu.checker, tests.benchmarks.gpu.table
"""


@pytest.mark.slow
def test_it_needs_few_packages():
    subprocess.run([sys.executable, "-c", BARE], cwd=ROOT, check=True)


def test_what_another_process_says_is_kept_or_why_it_failed():
    assert table.asked("-c", "print('{\"smVersion\": 90}')") == {"smVersion": 90}
    assert "no_such_module" in table.asked("-c", "import no_such_module")["failed"]


def test_nccl_is_timed_where_it_is(host, tmp_path):
    found = nccl.figures(made(HostDriver(), folder=tmp_path), size=4000)
    assert found["same"] and found["seconds"] > 0 and found["nccl"] == "2.27.7"
    line = table.exchange(found | {"seconds": 2e-6, "bytes": 64_000_000})
    assert line == "NCCL 2.27.7: a sum of 64 MB over one GPU in 2 us"
    assert table.exchange(found | {"same": False}).endswith(", WRONG numbers")


def test_nccl_is_told_to_be_absent_where_it_is_not(host):
    found = nccl.figures(base.get("cuda"), size=4000)
    assert found == {"absent": "without NCCL: it was not looked for"}
    assert table.exchange(found) == "without NCCL: it was not looked for"


@pytest.mark.slow
def test_all_of_it_is_saved(monkeypatch, host, tmp_path, capsys):
    some = checks(["Sigmoid"])
    monkeypatch.setattr(table, "checks", lambda: some)
    monkeypatch.setattr(table, "findings", lambda checks, until: (tried(*c) for c in checks))
    monkeypatch.setattr(table, "measured", lambda name, *rest: Measured(name, SECONDS, FACTS, {}))
    monkeypatch.setattr(table, "PROPERTIES", "import no_such_module")
    table.main(["--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert [row["workload"] for row in found["rows"]] == [*WORKLOADS]
    assert "3 of 3 agree with the reference; 3 give the same bits" in capsys.readouterr().out


def test_a_device_that_fails_does_not_end_it(monkeypatch):
    def broken(name):
        raise OSError("libcudnn.so.9: undefined symbol\nin a line below")

    monkeypatch.setattr("sparkdl.engine.backends.get", broken)
    assert table.device().startswith(
        "an unknown device: OSError: libcudnn.so.9: undefined symbol in a line below (test_gpu.py:"
    )


def test_without_a_gpu_it_says_why(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(SystemExit, match="bench gpu needs a GPU: "):
        table.main([])
