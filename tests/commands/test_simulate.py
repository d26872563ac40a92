"""sparkdl simulate: quantities, the table for known costs, and one run of the command."""

import math
import re
from pathlib import Path

import pytest

from sparkdl import cli
from sparkdl.commands import simulate
from sparkdl.commands.options.quantities import bandwidth, count, duration
from sparkdl.errors import ConfigError
from sparkdl.exchange.cost_model import measurement
from sparkdl.exchange.cost_model.model import Cluster, Coding, Costs, Exchange

CONFS = Path(__file__).parents[2] / "conf"
COSTS = Costs(message=1e-5, socket=1e-9, add=1e-10, shared=5e-10, barrier=2e-5)
BITS = Coding(name="OneBit", ratio=1 / 32, encode=1e-9, decode=5e-10, to_all=False)
SPARSE = Coding(name="Threshold", ratio=0.01, encode=1e-9, decode=1e-10, to_all=True)


@pytest.mark.parametrize(
    "read, text, value",
    [
        (count, "100e6", 100_000_000),
        (count, "25M", 25_000_000),
        (bandwidth, "10Gb", 1.25e9),
        (bandwidth, "10 Gbit/s", 1.25e9),
        (bandwidth, "1Gbps", 1.25e8),
        (bandwidth, "1.2GB/s", 1.2e9),
        (duration, "50us", 5e-5),
        (duration, "2.5ms", 2.5e-3),
        (duration, "0s", 0.0),
    ],
)
def test_quantities(read, text, value):
    assert read("--option", text) == pytest.approx(value)


@pytest.mark.parametrize(
    "read, text",
    [
        (count, "many"),
        (count, "0"),
        (bandwidth, "10"),
        (bandwidth, "0Gb"),
        (duration, "50"),
        (duration, "1.2.3s"),
        (duration, "-1s"),
        (bandwidth, "Gb"),
    ],
)
def test_what_is_no_quantity_is_refused(read, text):
    with pytest.raises(ConfigError, match=f"--option must be .*, got '{re.escape(text)}'"):
        read("--option", text)


def test_gradients_travel_beside_the_way_back():
    exchange = Exchange(seconds=0.5, sent=1e6)
    plan = simulate.ExchangePlan("a", "", 1, exchange, background=True)
    assert plan.minibatch(0.6) == pytest.approx(0.7)
    assert plan.minibatch(3.0) == 3.0


def test_a_gather_waits_for_the_update_or_travels_beside_the_way_forward():
    exchange, gather = Exchange(seconds=0.5, sent=1e6), Exchange(seconds=0.3, sent=1e6)
    plan = simulate.ExchangePlan("a", "", 1, exchange, True, gather)
    assert plan.minibatch(0.6) == pytest.approx(1.0)
    assert plan._replace(ahead=True).minibatch(0.6) == pytest.approx(0.8)
    assert plan.total == Exchange(seconds=0.8, sent=2e6)
    assert simulate.ExchangePlan("a", "", 5, exchange).minibatch(0.6) == pytest.approx(0.7)


def test_the_table_has_all_masters():
    cluster = Cluster(costs=COSTS, workers=4, cores=1, bandwidth=1e8)
    plans = simulate.plans(cluster, [BITS, SPARSE], 4e6, every=5)
    lines = simulate.report(plans, compute=0.1)
    text = "\n".join(lines)
    for name in ("ParameterAveraging", "AllReduceSGD", "ElasticAveraging", "ParameterServer"):
        assert name in text
    for name in ("BlockMomentum", "GradientSharing", "LocalSGD"):
        assert name in text
    [line] = [line for line in lines if "AllReduceSGD  " in line and "OneBit" in line]
    assert line.split()[2:] == ["1", "10.9", "ms", "187.5", "kB", "100", "ms", "100%"]


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(measurement, "measure_costs", lambda: COSTS)
    monkeypatch.setattr(measurement, "LONG", 10_000)
    monkeypatch.setattr(measurement, "SHORT", 10_000)


def test_command(known, capsys):
    options = ["--workers", "1024", "--params", "100e6", "--bandwidth", "10Gb", "--latency", "50us"]
    assert cli.main(["simulate", *options, "--compute", "1s"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "1024 workers on 1024 machines" in out
    # 2 1023/1024 of 400 MB at 1 GB a second, half of it added, and 2046 steps of 60 us
    [line] = [line for line in out.splitlines() if line.startswith("BlockMomentum")]
    assert line.split()[2:] == ["962", "ms", "799.2", "MB", "1.19", "s", "84%"]


def test_a_network_is_also_cut_into_stages_and_its_layers_divided(known, capsys):
    """For a wide network over a slow wire, activations are smaller than gradients."""
    conf = ["--conf", str(CONFS / "lenet.yaml"), "--set", "training.batch_size_per_worker=16"]
    options = ["--workers", "4", "--bandwidth", "100Mb", "--compute", "100ms"]
    assert cli.main(["simulate", *conf, *options]) == 0
    out = capsys.readouterr().out
    names = [line.split("  ")[0] for line in out.splitlines()]
    assert "PipelineParallel, 2 stages" in names and "PipelineParallel, 4 stages" in names
    assert "TensorParallel, degree 2" in names and "TensorParallel, degree 4" in names
    assert (
        out.endswith(" a minibatch.\n") and "\nThe fastest with the weights of one process: " in out
    )


TABLES = """
network:
  bags: [{name: user, dimension: 16}, {name: words, dimension: 16, width: 9}]
  vertices:
    - {name: all, layer: {type: Merge}, inputs: [user, words]}
    - {name: out, layer: {type: Output, units: 2}, inputs: all}
training: {type: AllReduceSGD, batch_size_per_worker: 100}
data: {train: {type: Digits, part: train}}
output: model
"""


def test_of_a_network_with_tables_the_rows_are_told(known, capsys, tmp_path):
    conf = tmp_path / "run.yaml"
    conf.write_text(TABLES)
    options = ["--workers", "8", "--bandwidth", "1Gb", "--compute", "10ms"]
    assert cli.main(["simulate", "--conf", str(conf), *options]) == 0
    out = capsys.readouterr().out
    rows = {line[:30].strip(): line[30:].split() for line in out.splitlines()}
    gradients = 1000 * (10 + 4 * 16)  # bytes of a worker's rows
    whole, sharded = (rows[f"AllReduceSGD, tables {way}"] for way in ("whole", "sharded"))
    assert "kB" in whole and float(whole[whole.index("kB") - 1]) > 7 * gradients / 1000
    assert "kB" in sharded and float(sharded[sharded.index("kB") - 1]) < 2 * gradients / 1000
    assert "The fastest with the weights of one process: AllReduceSGD, tables sharded" in out


def test_the_fastest_way_is_told():
    slow, fast = (Exchange(seconds=seconds, sent=1e6) for seconds in (0.5, 0.1))
    plans = [simulate.ExchangePlan("PipelineParallel, 2 stages", "", 1, fast)]
    plans += [simulate.ExchangePlan("AllReduceSGD", "", 1, slow)]
    plans += [simulate.ExchangePlan("AllReduceSGD", "OneBit", 1, Exchange(seconds=0, sent=0))]
    found = simulate.fastest(plans, 0.2)
    assert found.endswith(": PipelineParallel, 2 stages, 300 ms a minibatch.")


def test_a_network_must_be_given(known, capsys):
    assert cli.main(["simulate", "--workers", "2"]) == 2
    error = "--params or --conf must say how large the network is, got neither"
    assert capsys.readouterr().err == f"sparkdl simulate: {error}\n"


def test_a_network_has_one_size(known, capsys):
    """The exchanges of --params were compared with pipelines of the network of --conf."""
    options = ["--workers", "2", "--params", "1e9", "--conf", "conf/lenet.yaml"]
    assert cli.main(["simulate", *options]) == 2
    error = "--params must be left out with --conf, got '1e9': pipelines and divided layers are "
    assert capsys.readouterr().err == f"sparkdl simulate: {error}those of its network\n"


@pytest.mark.parametrize(
    "option, value, sentence",
    [
        ("--workers", "0", "--workers must be an integer >= 1, got 0"),
        ("--cores", "0", "--cores must be an integer >= 1, got 0"),
        ("--every", "0", "--every must be an integer >= 1, got 0"),
        ("--params", "x", "--params must be a number >= 1 such as 25e6 or 25M, got 'x'"),
        ("--params", "1e999", "--params must be a number >= 1 such as 25e6 or 25M, got '1e999'"),
        ("--latency", "5", "--latency must be a time such as 50us or 2.5ms, got '5'"),
        ("--latency", "1e999s", "--latency must be a time such as 50us or 2.5ms, got '1e999s'"),
        ("--set", "epochs=3", "--set must be left out without --conf, got 'epochs=3'"),
    ],
)
def test_a_mistake_is_one_sentence(known, capsys, option, value, sentence):
    options = {"--workers": "4", "--params": "1e6"} | {option: value}
    assert cli.main(["simulate", *(word for pair in options.items() for word in pair)]) == 2
    assert capsys.readouterr().err == f"sparkdl simulate: {sentence}\n"


@pytest.mark.slow
def test_two_processes_give_the_constants():
    costs = measurement.measure_costs()
    for name in ("message", "socket", "add", "shared", "barrier"):
        assert 0 < getattr(costs, name) < 1, name


def test_the_model_gives_back_what_the_two_processes_took():
    found = {
        False: {measurement.LARGE: 0.02, measurement.SMALL: 4e-5},
        True: {measurement.LARGE: 5e-3, measurement.SMALL: 1e-5},
    }
    for cores in (1, 2, 8):
        costs = measurement.fit_costs(found, 1e-10, cores)
        two = {"costs": costs, "workers": 2, "per_machine": 2, "cores": cores}
        apart = Cluster(**two, shared_memory=False)
        assert apart.ring(measurement.LARGE, 2).seconds == pytest.approx(0.02)
        assert apart.doubling(measurement.SMALL, 2).seconds == pytest.approx(4e-5, rel=0.1)
        assert Cluster(**two).all_reduce(measurement.LARGE).seconds == pytest.approx(5e-3, rel=0.01)


def test_a_codec_is_timed_on_random_gradients(known):
    coding = measurement.measure_coding(simulate.OneBit())
    assert 1 / 33 < coding.ratio < 1 / 20
    assert 0 < coding.decode < 1e-6
    assert not coding.to_all
    assert math.isfinite(coding.encode)
