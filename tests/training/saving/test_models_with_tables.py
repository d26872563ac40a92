"""Models whose rows lie in files: shared files stay in place, and damage is refused by name."""

import hashlib
import json

import numpy as np
import pytest

from sparkdl import AdaGrad, EmbeddingBag, GraphConf, Output, Vertex
from sparkdl.data import files
from sparkdl.errors import CheckpointError
from sparkdl.nn.tables.table_group import TableGroup
from sparkdl.training.network import Network
from sparkdl.training.reporting.counters import ENDING
from sparkdl.training.saving.manifest import MANIFEST
from sparkdl.training.saving.model_directory import load_model, save_model
from sparkdl.training.saving.stored_tables import StoredTables
from sparkdl.training.saving.table_file import write_table_file
from tests.training.models import state_of

OWNERS, FAR = 2, "memory://models"


def network(dimension=2):
    bag = EmbeddingBag(name="user", dimension=dimension)
    out = Vertex(name="out", layer=Output(units=2), inputs="user")
    return GraphConf(bags=[bag], vertices=[out], optimizer=AdaGrad(learning_rate=0.1))


CONF = network()


def table_file(path, number, ids, dimension=2):
    """Writes a file in which all rows of these ids are `number`."""
    group = TableGroup(("user",), dimension, AdaGrad())
    arrays = {"user/ids": np.array(ids)} | {
        f"user/{name}": np.full(len(ids) * dimension, number, np.float32)
        for name in ("rows", *AdaGrad().slot_names)
    }
    group.load(arrays)
    return write_table_file(str(path), [one for store in group.stores for one in store.stream()])


@pytest.fixture(autouse=True)
def far(tmp_path, monkeypatch):
    """Empties the remote file system, whose files are copied to a folder of this test."""
    monkeypatch.setenv("SPARKDL_COPIES", str(tmp_path / "copies"))
    files.remove(FAR)
    yield
    files.remove(FAR)


@pytest.fixture
def state(tmp_path):
    """Files of two owners, in order; the last file's rows count."""
    shards = (
        [table_file(tmp_path / f"{owner}-{n}", n, range(owner, 20, 2)) for n in range(12)]
        for owner in range(OWNERS)
    )
    return state_of(CONF, rounds=3, tables=StoredTables(tuple(map(tuple, shards))))


def rows_of(tables):
    arrays = tables.read() if isinstance(tables, StoredTables) else tables
    return dict(zip(arrays["user/ids"].tolist(), arrays["user/rows"][::2].tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local", "far"])
def test_a_model_has_copies_of_the_files_in_their_order(kind, state, tmp_path):
    path = FAR if kind == "far" else str(tmp_path / "model")
    save_model(path, CONF, state, {ENDING: state})
    _, again, extra = load_model(path)
    for tables in (again.tables, extra[ENDING].tables):
        assert rows_of(tables) == dict.fromkeys(range(20), 11.0)
        assert isinstance(tables, StoredTables) == (kind == "far")
    manifest = json.loads(files.open(f"{path}/{MANIFEST}").read())
    assert manifest["version"] == 2 and "tables-00001-00011.safetensors" in manifest["files"]


def test_a_model_without_files_is_read_by_older_versions(tmp_path):
    save_model(tmp_path / "model", CONF, state_of(CONF))
    assert json.loads((tmp_path / "model" / MANIFEST).read_bytes())["version"] == 1


@pytest.mark.slow
def test_a_far_model_that_was_replaced_is_refused_by_who_loaded_it_before(state, tmp_path):
    save_model(FAR, CONF, state)
    old = Network.load(FAR)
    shards = tuple((table_file(tmp_path / f"n{o}", 5, range(o, 20, 2)),) * 12 for o in range(2))
    save_model(FAR, CONF, state_of(CONF, tables=StoredTables(shards)))
    with pytest.raises(CheckpointError, match="tables-00000-00000.safetensors.*damaged, sha256"):
        old.predict(np.arange(4)[:, None])
    Network.load(FAR).predict(np.arange(4)[:, None])


def rename(path, old, new):
    """Renames a file of a model, also in its manifest."""
    content = files.open(f"{path}/{old}").read()
    manifest = json.loads(files.open(f"{path}/{MANIFEST}").read())
    manifest["files"][new] = manifest["files"].pop(old)
    files.remove(f"{path}/{old}")
    files.write(f"{path}/{new}", content)
    files.write(f"{path}/{MANIFEST}", json.dumps(manifest).encode())


def cut(path, name):
    content = files.open(f"{path}/{name}").read()
    files.write(f"{path}/{name}", content[:100])


ONE = "tables-00001-00011.safetensors"
DAMAGES = {
    "a file is gone": (lambda path: files.remove(f"{path}/{ONE}"), f"{ONE} is missing"),
    "a file is cut": (lambda path: cut(path, ONE), f"{ONE}: damaged, bytes is 100"),
    "a number is missing": (
        lambda path: rename(
            path, "tables-00001-00003.safetensors", "tables-00001-00012.safetensors"
        ),
        "files of rows by owner and number, each from 0 on",
    ),
    "an owner is missing": (
        lambda path: [
            rename(path, f"tables-00001-{n:05d}.safetensors", f"tables-00002-{n:05d}.safetensors")
            for n in range(12)
        ],
        "files of rows by owner and number, each from 0 on",
    ),
}


@pytest.mark.parametrize("kind", ["local", "far"])
@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_refused_by_name(name, kind, state, tmp_path):
    harm, text = DAMAGES[name]
    path = FAR if kind == "far" else str(tmp_path / "model")
    save_model(path, CONF, state)
    harm(path)
    with pytest.raises(CheckpointError, match=text):
        load_model(path)


def test_files_of_another_network_are_refused_before_they_are_read(state):
    save_model(FAR, CONF, state)
    files.write(f"{FAR}/network.json", content := network(dimension=3).to_json().encode())
    manifest = json.loads(files.open(f"{FAR}/{MANIFEST}").read())
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["files"]["network.json"] = entry
    files.write(f"{FAR}/{MANIFEST}", json.dumps(manifest).encode())
    with pytest.raises(CheckpointError, match="vectors.safetensors|needs rows of float32"):
        load_model(FAR)
