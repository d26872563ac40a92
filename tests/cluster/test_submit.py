"""sparkdl submit: training on YARN from the environment archive, while containers come and go."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sparkdl import Network
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(900)  # for packing the environment and starting containers
ROOT = Path(__file__).resolve().parents[2]
MEMORY = "spark.executor.memoryOverhead=1g", "spark.driver.memoryOverhead=1g"
SMALL = "--executors", "2", "--memory", "512m", "--set", "spark.driver.memory=512m"
RUN = """
network:
  input_shape: [1, 28, 28]
  layers: [{{type: Dense, units: 32, activation: relu}}, {{type: Output, units: 10}}]
  optimizer: {{type: Nesterov, learning_rate: 0.02}}
training: {training}
data:
  train: {{type: Digits, records: 640, scale: 0.00390625}}
epochs: {epochs}
output: {output}
"""
TOGETHER = "{type: AllReduceSGD, workers: 4, batch_size_per_worker: 16}"
AVERAGED = "{type: ParameterAveraging, workers: 4, batch_size_per_worker: 16}"


@pytest.fixture
def submit(yarn, hdfs, shared_archive, tmp_path):
    """Trains on YARN with conf/yarn.conf and options of sparkdl submit; returns a Submitted."""

    def run(training, epochs, output, *options):
        path = tmp_path / "run.yaml"
        path.write_text(RUN.format(training=training, epochs=epochs, output=hdfs.uri + output))
        memory = [part for each in MEMORY for part in ("--set", each)]
        given = (
            "--properties",
            ROOT / "conf" / "yarn.conf",
            "--archive",
            shared_archive,
            *SMALL,
            *memory,
        )
        sparkdl = sys.executable, "-m", "sparkdl", "submit", "--run"
        return yarn.run(*sparkdl, *given, *options, "--", "train", "--conf", path)

    return run


def lines(yarn, application="*"):
    """Returns {(rank, container)} from the lines that workers log at their start."""
    return {
        (int(rank), name.partition("/")[0])
        for name, text in yarn.logs(application).items()
        for rank in re.findall(r"INFO rank (\d) of 4 on \S+: begins to train", text)
    }


def test_a_container_is_killed_and_the_training_goes_on(submit, yarn, hdfs):
    before = lines(yarn)
    with ThreadPoolExecutor(1) as thread:
        options = "--deploy-mode", "client", "--cores", "2"
        running = thread.submit(submit, TOGETHER, 150, "/together", *options)
        until(lambda: running.done() or len(lines(yarn) - before) >= 4, limit=400.0)
        [first, _] = {container for _, container in lines(yarn) - before}  # two tasks each
        yarn.kill_container(first)
        done = running.result()
    assert re.search(r"workers go on from epoch \d+", done.printed)  # from the History
    assert len(lines(yarn, done.application)) > 4
    # At least one new container; if YARN grants a spare one, workers may start there, too.
    assert len({container for _, container in lines(yarn, done.application)}) > 2
    assert trained(hdfs, "/together").state.epoch == 150


def test_executors_come_and_go_with_a_driver_in_a_container(submit, yarn, hdfs):
    more = "spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.maxExecutors=2"
    idle = "spark.dynamicAllocation.executorIdleTimeout=2s"
    options = [part for each in (*more, idle) for part in ("--set", each)]
    done = submit(AVERAGED, 2, "/averaged", "--cores", "1", *options)
    assert yarn.applications()[done.application]["finalStatus"] == "SUCCEEDED"
    printed = "".join(yarn.logs(done.application).values())
    assert {rank for rank, _ in lines(yarn, done.application)} == {0, 1, 2, 3}
    assert "averaged by peers" in printed
    assert trained(hdfs, "/averaged").state.epoch == 2
    until(lambda: not yarn.containers(done.application))  # they end soon after the driver


def trained(hdfs, path):
    """Loads the Network that a run has saved on HDFS."""
    return Network.load(hdfs.uri + path)
