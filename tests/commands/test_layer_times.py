"""sparkdl time: its table for a step with known times, and one run of the command."""

import pytest
from threadpoolctl import threadpool_limits

from sparkdl import cli
from sparkdl.commands.layer_times import report
from sparkdl.nn import Activation, Dense, NetworkConf, Output
from sparkdl.nn.execution.timing import LayerTime, Pass, StepTime
from sparkdl.training.rounds.replica import limit_to

TABLE = """\
layer         type        forward ms  backward ms  % of step  GFLOP/s  % of peak
--------------------------------------------------------------------------------
dense_1       Dense            1.000        2.000       30.0       40         40
activation_1  Activation
output_1      Output           0.500        0.500       10.0       20         20
loss                           1.000        1.000       20.0
update        Sgd              4.000                    40.0
--------------------------------------------------------------------------------
total                          2.500        3.500       60.0       23         23

a step of 50 examples: 10.00 ms (forward 2.50 ms, backward 3.50 ms, update 4.00 ms)
5,000 examples a second; 0.14 GFLOP at 14% of the 100 GFLOP/s of a large matrix product here"""

RUN = """
network: {input_shape: [4], layers: [{type: Dense, units: 3}, {type: Output, units: 2}]}
data: {train: {type: Digits}}
output: model
"""


def test_table():
    layers = [Dense(units=5), Activation("relu"), Output(units=2)]
    network = NetworkConf(input_shape=(4,), layers=layers)
    times = {
        "dense_1": LayerTime(Pass(1e-3, 40_000_000), Pass(2e-3, 80_000_000)),
        "activation_1": LayerTime(),
        "output_1": LayerTime(Pass(5e-4, 10_000_000), Pass(5e-4, 10_000_000)),
    }
    loss = LayerTime(Pass(1e-3), Pass(1e-3))
    assert report(network, StepTime(50, times, loss, Pass(4e-3), 1e11)) == TABLE


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    (tmp_path / "run.yaml").write_text(RUN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def command(*arguments):
        return cli.main(["time", "--conf", "run.yaml", *arguments]), *capsys.readouterr()

    with threadpool_limits():  # the command leaves its process with one thread
        yield command
    limit_to.cache_clear()


def test_command(run):
    code, out, err = run("--batch-size", "7", "--iterations", "2", "--threads", "1")
    assert (code, err) == (0, "")
    for part in ("dense_1", "output_1", "update", "a step of 7 examples", "of a large matrix"):
        assert part in out


def test_batch_size_is_that_of_the_run(run):
    _, out, _ = run(
        "--set",
        "training={type: ParameterAveraging, batch_size_per_worker: 9}",
        "--iterations",
        "1",
    )
    assert "a step of 9 examples" in out


@pytest.mark.parametrize("option", ["--batch-size", "--iterations", "--threads"])
def test_zero_is_refused(run, option):
    code, out, err = run(option, "0")
    assert (code, out) == (2, "")
    assert err == f"sparkdl time: {option} must be an integer >= 1, got 0\n"
