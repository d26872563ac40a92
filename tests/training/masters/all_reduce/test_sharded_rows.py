"""Tables sharded over workers give the bits of tables that each worker holds whole."""

import gc

import numpy as np
import pytest

from sparkdl import AllReduceSGD, Checkpoints
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.errors import ConfigError, DataError
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.stored_tables import StoredTables, read_tables
from sparkdl.training.saving.table_folder import sweep
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
    assert read_tables(one.state.tables).keys() == read_tables(two.state.tables).keys()
    for table in ("words", "user"):
        for found, expected in zip(rows_by_id(one, table), rows_by_id(two, table), strict=True):
            np.testing.assert_array_equal(found, expected)


def in_files(folder):
    return {"table_folder": str(folder)}


ROWS = {
    "one": (1, {}),
    "two": (2, {}),
    "three, accumulating": (3, {"accumulate": 2}),
    "two, codec": (2, {"codec": "Half"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_fit_has_the_bits_of_one_with_whole_tables(name, crews, tmp_path):
    count, options = ROWS[name]
    one, two = (fit(crews(count), tables, options=options) for tables in ("whole", "sharded"))
    three = fit(
        crews(count), "sharded", options=options | in_files(tmp_path) | {"snapshot_every": 1}
    )
    nets = one, two, three
    assert_same_bits(one, two)
    assert_same_bits(one, three)
    reports = [[str(epoch.validation) for epoch in net.history.epochs] for net in nets]
    assert len(reports[0]) == 3 and reports[0] == reports[1] == reports[2]
    features, _ = records(21)
    predicted = [net.predict(features).tolist() for net in nets]
    assert predicted[0] == predicted[1] == predicted[2]


@pytest.mark.slow
def test_a_checkpoint_is_whole_and_goes_on_either_way_with_other_workers(crews, tmp_path):
    begun = fit(crews(3), "sharded", epochs=2, checkpoints=Checkpoints(path=tmp_path))
    whole = fit(crews(2), "whole", state=begun.state)
    assert_same_bits(fit(crews(2), "sharded", state=begun.state), whole)
    one, two = (fit(crews(3), tables, resume=tmp_path) for tables in ("whole", "sharded"))
    assert_same_bits(one, two)
    assert_same_bits(two, fit(crews(3), "whole"))


@pytest.mark.slow
def test_checkpoints_and_models_have_copies_of_the_files(crews, tmp_path):
    folder, checkpoints = tmp_path / "rows", Checkpoints(path=tmp_path / "checkpoints", keep=2)
    net = fit(crews(3), "sharded", epochs=2, options=in_files(folder), checkpoints=checkpoints)
    assert isinstance(net.state.tables, StoredTables) and len(net.state.tables.shards) == 3
    net.save(tmp_path / "model")
    assert len([*(tmp_path / "model").glob("tables-*.safetensors")]) >= 3
    del net
    gc.collect()
    sweep()
    assert not [*folder.iterdir()]
    model, whole = Network.load(tmp_path / "model"), fit(crews(3), "whole", epochs=2)
    features, _ = records(21)
    np.testing.assert_array_equal(model.predict(features), whole.predict(features))
    expected = fit(crews(3), "whole")
    for options in (in_files(folder), {}):
        going_on = fit(crews(3), "sharded", resume=tmp_path / "checkpoints", options=options)
        assert_same_bits(going_on, expected)
    two, three = (fit(crews(2), "sharded", state=model.state, options=of) for of in ({}, options))
    assert_same_bits(two, three)
    assert_same_bits(two, fit(crews(2), "whole", state=model.state))


@pytest.mark.slow
def test_the_folder_has_the_last_rows_alone(crews, tmp_path):
    seen = []

    class Look(Listener):
        def on_round(self, report, state):
            seen.append(sorted(path.name for path in tmp_path.glob("*/*.safetensors")))

    options = in_files(tmp_path) | {"snapshot_every": 1}
    net = fit(crews(2), "sharded", epochs=6, options=options, listeners=[Look()])
    begun = [{int(name[6:12]) for name in names if name.startswith("00000-")} for names in seen]
    assert {1, 2} <= begun[1] and 1 not in begun[-1]  # a new file of all rows has replaced it
    sweep()
    held = {file.path for file in net.state.tables.files}
    assert {str(path) for path in tmp_path.glob("*/*.safetensors")} == held


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_ends_the_fit_by_name(crews, tmp_path):
    (tmp_path / "rows").write_text("a file")
    with pytest.raises(DataError, match="rows.*cannot be written"):
        fit(crews(2), "sharded", options=in_files(tmp_path / "rows"))


def test_whole_tables_take_no_folder():
    with pytest.raises(ConfigError, match="table_folder must be None with tables='whole', got 'x'"):
        AllReduceSGD(table_folder="x")


class Records(Partitions):
    """The records of `records`, in partitions."""

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
@pytest.mark.parametrize("way", ["in the driver", "in files"])
def test_a_killed_worker_costs_no_bits(way, crews, tmp_path):
    workers = crews(2)
    harm = Harm(workers, rounds=3)
    data = Records([41, 0, 3, 15, 1], harm.data.transform)
    options = {"timeout": 20.0, "stall_timeout": 60.0, "snapshot_every": 2}
    if way == "in files":
        options |= in_files(tmp_path)
    healed = fit(workers, "sharded", data=data, options=options, listeners=[harm])
    assert len(harm.restarts) == 1 and harm.restarts[0].lost
    assert_same_bits(healed, fit(crews(2), "whole", data=Records(data.counts)))
