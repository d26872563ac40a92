"""Number of replicas that train, for any -clusterSize."""

from types import SimpleNamespace

import pytest

from sparkdl.commands.caffe.cluster import master_of, replicas
from sparkdl.commands.caffe.command import places
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging

# (-clusterSize, -devices): replicas on two executors of one core, and messages
SIZES = {
    (None, 1): (2, []),
    (2, 1): (2, []),
    (1, 1): (1, ["-clusterSize is 1, but there are 2 executors"]),
    (3, 1): (
        2,
        [
            "-clusterSize is 3, but there are 2 executors",
            "3 replicas were requested, but 2 train",
        ],
    ),
    (2, 2): (2, ["4 replicas were requested, but 2 train"]),
    (1, 2): (2, ["-clusterSize is 1"]),
}


@pytest.mark.parametrize("asked", SIZES)
def test_as_many_as_were_asked_for_where_there_is_room(asked, monkeypatch):
    requested, told = [], []
    there = {
        "slots": lambda sc, least: 2,
        "executors": lambda sc: 2,
        "request_slots": lambda sc, count: requested.append(count),
    }
    for name, function in there.items():
        monkeypatch.setattr(f"sparkdl.commands.caffe.cluster.{name}", function)
    count, notes = SIZES[asked]
    assert replicas(None, *asked, told.append) == count
    assert requested == ([] if asked[0] is None else [asked[0] * asked[1]])
    assert len(told) == len(notes) and all(map(str.startswith, told, notes))


def options(**given):
    return SimpleNamespace(**{"persistent": False, "connection": "ethernet"} | given)


def test_how_they_exchange():
    common = {"workers": 3, "batch_size_per_worker": 64}
    assert master_of(options(), 3, 64) == AllReduceSGD(**common)
    assert master_of(options(connection="infiniband"), 3, 64) == AllReduceSGD(**common)
    on_disk = master_of(options(connection="none", persistent=True), 3, 64)
    common |= {"averaging_frequency": 1, "storage_level": "DISK_ONLY"}
    assert on_disk == ParameterAveraging(**common)


def test_a_path_that_one_machine_knows_is_told():
    given = SimpleNamespace(train=True, use="test", model="m", output="hdfs://nn/out")
    assert list(places("local-cluster[2,1,1024]", given)) == []
    [note] = places("yarn", given)
    assert note.startswith("-model m is on each machine's own disk")
