"""Masters with protected connections train like those without."""

import json
from dataclasses import asdict, replace

import pytest

from sparkdl.errors import ConfigError
from sparkdl.exchange.connections.checksums import CHANGED
from sparkdl.exchange.connections.tls import Tls
from sparkdl.exchange.rendezvous.address_rendezvous import RendezvousServer
from sparkdl.nn import Momentum
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from sparkdl.training.resident import worker_group
from sparkdl.training.workers.local import LocalWorkers
from tests.exchange.certificates import authority, member
from tests.exchange.proxy import through_proxy
from tests.training.models import assert_equal
from tests.training.problems import Partitions, softmax_net

OPTIONS = {"batch_size_per_worker": 4, "updates_per_round": 3, "timeout": 20.0}
OPTIONS |= {"shared_memory": False}
MASTERS = AllReduceSGD(**OPTIONS), ParameterServer(**OPTIONS)


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return member(folder, "worker", authority(folder, "root"))


def trained(master, workers):
    network = Network(softmax_net(optimizer=Momentum(learning_rate=0.1)))
    network.fit(Partitions([21, 0, 8]), 2, master, workers)
    return network.state


@pytest.mark.slow
@pytest.mark.parametrize("master", MASTERS, ids=lambda master: type(master).__name__)
def test_protected_links_give_the_same_weights(master, tls, crews):
    plain = trained(master, crews(2))
    for layer in ({"tls": tls}, {"tls": Tls()}, {"integrity": True}):
        assert_equal(trained(replace(master, **layer), crews(2)), plain)


class OverProxy(RendezvousServer):
    """Announces a Proxy in place of rank 0, which flips one bit in the first group."""

    flips = iter([])

    def _answer(self, wire, number, rank, text, seconds):
        if rank == 0 and text.startswith("{"):
            text, proxy = through_proxy(text, next(self.flips, None))
            PROXIES.append(proxy)
        super()._answer(wire, number, rank, text, seconds)


PROXIES = []


@pytest.mark.slow
def test_a_bit_that_changes_on_its_way_costs_a_restart_and_no_weights(monkeypatch, crews):
    master = AllReduceSGD(**OPTIONS, integrity=True)
    plain = trained(master, crews(2))
    monkeypatch.setattr(worker_group, "RendezvousServer", OverProxy)
    monkeypatch.setattr(OverProxy, "flips", iter([1500]))
    with LocalWorkers(2) as workers:
        network = Network(softmax_net(optimizer=Momentum(learning_rate=0.1)))
        history = network.fit(Partitions([21, 0, 8]), 2, master, workers)
    for proxy in PROXIES:
        proxy.close()
    assert [proxy.flipped for proxy in PROXIES] == [True, False]
    (restart,) = history.restarts
    assert CHANGED in restart.reason and "rank 1" in restart.reason
    assert_equal(network.state, plain)


@pytest.mark.slow
def test_options_go_through_json(tls):
    master = AllReduceSGD(tls=tls)
    assert AllReduceSGD(**json.loads(json.dumps(master.to_dict()))) == master
    assert not {"tls", "integrity"} & set(master.identity())
    assert AllReduceSGD(**json.loads(json.dumps(AllReduceSGD(tls={}).to_dict()))).tls == Tls()


def test_files_that_are_not_there_are_named(tls, crews):
    wrong = replace(tls, key="no/such.key")
    with pytest.raises(ConfigError, match="no/such.key"):
        trained(AllReduceSGD(**OPTIONS, tls=wrong), crews(2))


WRONG = {
    "a file is missing": (
        {"key": "k", "certificate": "c"},
        "Tls.authorities must be the path of a file, got None; give certificate, key, authorities",
    ),
    "no mapping": ("certificates", "AllReduceSGD.tls must be a Tls or a mapping of its options or"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name, tls):
    given, message = WRONG[name]
    with pytest.raises(ConfigError, match=message):
        AllReduceSGD(tls=given)
    assert AllReduceSGD(tls=asdict(tls)).tls == tls
