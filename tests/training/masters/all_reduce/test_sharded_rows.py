"""Tables sharded over workers: the bits are those of tables that each worker has whole."""

import numpy as np
import pytest

from sparkdl import AllReduceSGD, Checkpoints
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.training.network import Network
from tests.training.masters.all_reduce.test_row_exchange import network, records, rows_by_id
from tests.training.problems import Partitions
from tests.training.resident.test_supervisor import Harm

OPTIONS = {"batch_size_per_worker": 8, "updates_per_round": 2, "device": "cpu"}


def fit(workers, tables, *, state=None, options=(), data=None, **others):
    net = Network(network(), state)
    master = AllReduceSGD(tables=tables, **OPTIONS, **dict(options))
    others = {"epochs": 3, "validation": records(21)} | others
    net.fit(records(45) if data is None else data, master=master, workers=workers, **others)
    return net


def assert_same_bits(one, two):
    np.testing.assert_array_equal(one.state.params, two.state.params)
    assert one.state.tables.keys() == two.state.tables.keys()
    for table in ("words", "user"):
        for found, expected in zip(rows_by_id(one, table), rows_by_id(two, table), strict=True):
            np.testing.assert_array_equal(found, expected)


ROWS = {
    "one": (1, {}),
    "two": (2, {}),
    "three, accumulating": (3, {"accumulate": 2}),
    "two, codec": (2, {"codec": "Half"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_fit_has_the_bits_of_one_with_whole_tables(name, crews):
    count, options = ROWS[name]
    one, two = (fit(crews(count), tables, options=options) for tables in ("whole", "sharded"))
    assert_same_bits(one, two)
    reports = [[str(epoch.validation) for epoch in net.history.epochs] for net in (one, two)]
    assert len(reports[0]) == 3 and reports[0] == reports[1]


@pytest.mark.slow
def test_a_checkpoint_is_whole_and_goes_on_either_way_with_other_workers(crews, tmp_path):
    begun = fit(crews(3), "sharded", epochs=2, checkpoints=Checkpoints(path=tmp_path))
    whole = fit(crews(2), "whole", state=begun.state)
    assert_same_bits(fit(crews(2), "sharded", state=begun.state), whole)
    one, two = (fit(crews(3), tables, resume=tmp_path) for tables in ("whole", "sharded"))
    assert_same_bits(one, two)
    assert_same_bits(two, fit(crews(3), "whole"))


class Records(Partitions):
    """What `records` gives, in partitions."""

    def __init__(self, counts, transform=None):
        super().__init__(counts)
        self.given, self.transform = records(sum(counts)), transform

    def read(self, split):
        columns, labels = self.given
        start = sum(self.counts[: split.partition])
        part = slice(start, start + split.count)
        columns = {name: of[part] for name, of in (columns | {"labels": labels}).items()}
        yield Batch(columns=columns, ids=record_ids(split.partition, 0, split.count))


@pytest.mark.slow
def test_a_killed_worker_costs_no_bits(crews):
    workers = crews(2)
    harm = Harm(workers, rounds=3)
    data = Records([41, 0, 3, 15, 1], harm.data.transform)
    options = {"timeout": 20.0, "stall_timeout": 60.0, "snapshot_every": 2}
    healed = fit(workers, "sharded", data=data, options=options, listeners=[harm])
    assert len(harm.restarts) == 1 and harm.restarts[0].lost
    assert_same_bits(healed, fit(crews(2), "whole", data=Records(data.counts)))
