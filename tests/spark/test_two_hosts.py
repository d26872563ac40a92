"""Every master trains across two hosts, and survives a link that is cut for a while."""

import json
import subprocess
import time

import pytest

from sparkdl.training.network import Network
from sparkdl.training.workers.local import LocalWorkers
from tests.spark.over_hosts import EPOCHS, RECORDS, Request, train
from tests.support.cluster import cluster
from tests.support.namespaces import two_hosts, why_not
from tests.support.waiting import LIMIT, until
from tests.training.master_table import MASTERS

REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
CUT = "averaging by peers"
SILENCE = 2.0  # seconds without a word before a worker is lost


@pytest.fixture(scope="module")
def hosts():
    with two_hosts() as pair:
        yield pair


@pytest.fixture(scope="module")
def driver(hosts, tmp_path_factory):
    """A driver on one of two hosts with a cluster; at the end no process of it remains."""
    with cluster(*hosts, tmp_path_factory.mktemp("cluster")) as made:
        master, config = made.options
        arguments = master, json.dumps(config)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with made.start("tests.spark.over_hosts", *arguments, **pipes) as driver:
            yield driver
            driver.stdin.close()
            assert driver.wait(LIMIT) == 0
        until(lambda: not left_behind(hosts))


def left_behind(hosts):
    """Returns the commands running on the hosts, except the cluster's own."""
    commands = [command for host in hosts for command in host.processes().values()]
    return [command for command in commands if "org.apache.spark.deploy." not in command]


@pytest.fixture(scope="module")
def local():
    with LocalWorkers(2, threads=1) as workers:
        yield workers


@pytest.fixture
def same(local, tmp_path):
    """Returns a check that a driver's answer equals that of processes on one machine."""

    def check(found, name):
        def fit(conf, data, **options):
            network = Network(conf)
            return network, network.fit(data, master=MASTERS[name].master, workers=local, **options)

        expected = train(Request(name=name, folder=str(tmp_path)), fit)
        assert found["examples"] == [RECORDS] * EPOCHS
        assert found["judged"] == expected["judged"]
        assert found["vectors"] == expected["vectors"] or not MASTERS[name].same_bits

    return check


def answer(driver):
    found = json.loads(driver.stdout.readline())
    assert "error" not in found, found["error"]
    return found


@pytest.mark.parametrize("name", MASTERS)
def test_every_master_trains_over_two_hosts(name, driver, same, tmp_path):
    folder = tmp_path / "hosts"
    folder.mkdir()
    Request(name=name, folder=str(folder)).send(driver.stdin)
    found = answer(driver)
    assert found["hosts"] == ["left", "right"]
    assert found["restarts"] == []
    same(found, name)


def test_a_link_that_is_cut_for_a_while_costs_time_and_nothing_else(driver, hosts, same, tmp_path):
    folder, gate, (_, right) = tmp_path / "hosts", tmp_path / "gate", hosts
    folder.mkdir()
    options = {"timeout": SILENCE}
    Request(name=CUT, folder=str(folder), gate=str(gate), options=options).send(driver.stdin)
    until(lambda: len(list(folder.iterdir())) == 2)
    right.cut()
    gate.touch()
    time.sleep(3 * SILENCE)
    right.mend()
    found = answer(driver)
    assert found["restarts"]
    same(found, CUT)
