"""sparkdl submit on a standalone cluster: two hosts, conf/standalone.conf and the archive."""

import re
import sys
from pathlib import Path

import pytest

from sparkdl import Network
from tests.support.cluster import cluster, environment
from tests.support.namespaces import two_hosts, why_not

REASON = why_not()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.timeout(900),  # the environment is packed here and unpacked by each executor
]
ROOT = Path(__file__).resolve().parents[2]
LIMIT = 600.0  # seconds for one submission
SMALL = ("--cores", "1", "--memory", "512m", "--set", "spark.cores.max=2")
RUN = """
network:
  input_shape: [1, 28, 28]
  layers: [{{type: Dense, units: 32, activation: relu}}, {{type: Output, units: 10}}]
  optimizer: {{type: Nesterov, learning_rate: 0.02}}
training: {{type: AllReduceSGD, workers: 2, batch_size_per_worker: 16}}
data:
  train: {{type: Digits, records: 640, scale: 0.00390625}}
epochs: 2
output: {output}
"""


@pytest.fixture
def standalone(tmp_path):
    """A Cluster on two hosts whose executors get the project from the archive alone."""
    with two_hosts() as hosts, cluster(*hosts, tmp_path, path=None) as made:
        yield made


def test_a_run_is_submitted_with_the_environment_archive(standalone, archive, tmp_path):
    (tmp_path / "run.yaml").write_text(RUN.format(output=tmp_path / "model"))
    master, _ = standalone.options
    given = ("--properties", ROOT / "conf/standalone.conf", "--archive", archive, *SMALL)
    more = ("--master", master, "--set", "spark.driver.memory=512m", "--run")
    sparkdl = (sys.executable, "-m", "sparkdl", "submit", *given, *more)
    what = ("--", "train", "--conf", tmp_path / "run.yaml")
    host, env = standalone.left, environment(standalone.left)
    done = host.run(*sparkdl, *what, check=False, timeout=LIMIT, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert Network.load(str(tmp_path / "model")).state.epoch == 2
    logs = {path: path.read_text() for path in tmp_path.glob("work-*/app-*/*/stderr")}
    begun = {
        (int(rank), path.parts[-4])
        for path, text in logs.items()
        for rank in re.findall(r"INFO rank (\d) of 2 on \S+: begins to train", text)
    }
    assert {rank for rank, _ in begun} == {0, 1}
    assert {worker for _, worker in begun} == {"work-left", "work-right"}
    for path in logs:  # each executor has unpacked the archive
        assert (path.parent / "environment/bin/python").exists()
