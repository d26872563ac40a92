"""Masters whose connections are encrypted train as the others do."""

import json
from dataclasses import asdict, replace

import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Momentum
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from tests.exchange.certificates import authority, member
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
def test_encrypted_links_give_the_same_weights(master, tls, crews):
    plain = trained(master, crews(2))
    assert_equal(trained(replace(master, tls=tls), crews(2)), plain)


def test_options_go_through_json(tls):
    master = AllReduceSGD(tls=tls)
    assert AllReduceSGD(**json.loads(json.dumps(master.to_dict()))) == master
    assert "tls" not in master.identity()


def test_files_that_are_not_there_are_named(tls, crews):
    wrong = replace(tls, key="no/such.key")
    with pytest.raises(ConfigError, match="no/such.key"):
        trained(AllReduceSGD(**OPTIONS, tls=wrong), crews(2))


WRONG = {
    "a file is missing": ({"key": "k", "certificate": "c"}, "Tls needs the field 'authorities'"),
    "no mapping": ("certificates", "AllReduceSGD.tls must be a Tls or a mapping of its options or"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name, tls):
    given, message = WRONG[name]
    with pytest.raises(ConfigError, match=message):
        AllReduceSGD(tls=given)
    assert AllReduceSGD(tls=asdict(tls)).tls == tls
