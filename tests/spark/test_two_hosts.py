"""Every master trains where executors are on different hosts and a link is between them."""

import json
import subprocess
import time

import pytest

from sparkdl.training.local import LocalWorkers
from sparkdl.training.network import Network
from tests.spark.over_hosts import EPOCHS, RECORDS, told
from tests.support.cluster import cluster
from tests.support.namespaces import two_hosts, why_not
from tests.training.masters import MASTERS

REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
LIMIT = 120.0


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A driver on one of two hosts with a cluster; once it has ended, nothing of it is left."""
    folder = tmp_path_factory.mktemp("cluster")
    with two_hosts() as hosts, cluster(*hosts, folder) as made:
        master, config = made.options
        arguments = master, json.dumps(config), str(tmp_path_factory.mktemp("hosts"))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with made.start("tests.spark.over_hosts", *arguments, **pipes) as driver:
            yield driver
            driver.stdin.close()
            assert driver.wait(LIMIT) == 0
        deadline = time.monotonic() + LIMIT
        while (left := left_behind(hosts)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not left


def left_behind(hosts):
    """The commands that run on the hosts and are none of the cluster's own."""
    commands = [command for host in hosts for command in host.processes().values()]
    return [command for command in commands if "org.apache.spark.deploy." not in command]


@pytest.fixture(scope="module")
def local():
    with LocalWorkers(2, timeout=60, threads=1) as workers:
        yield workers


@pytest.mark.parametrize("name", MASTERS)
def test_every_master_trains_over_two_hosts(name, driver, local, tmp_path):
    print(name, file=driver.stdin, flush=True)
    found = json.loads(driver.stdout.readline())
    assert "error" not in found, found["error"]
    assert found["hosts"] == ["left", "right"]
    assert found["examples"] == [RECORDS] * EPOCHS
    assert found["restarts"] == 0

    def fit(conf, data, **options):
        network = Network(conf)
        return network, network.fit(data, master=MASTERS[name].master, workers=local, **options)

    expected = told(fit, tmp_path)
    assert found["judged"] == expected["judged"]
    if MASTERS[name].same_bits:
        assert found["vectors"] == expected["vectors"]
