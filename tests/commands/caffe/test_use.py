"""-test and -features match numpy, on the tests' Spark."""

import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from sparkdl.interop.caffe import write_weights

BASE = "-conf solver.prototxt -model small.caffemodel"


def test_the_means_of_all_records(run, made, spark):
    code, out, err = run(f"{BASE} -test -output means.json")
    assert (code, err) == (0, "")
    assert "test net 0: 330 records" in out  # 16 batches of 20, and one of 10
    assert re.search(r"^tasks computed: [1-9] on the processor$", out, re.MULTILINE)
    means = json.loads((made.folder / "means.json").read_text())
    assert list(means) == ["accuracy", "loss"]
    assert means["accuracy"] == [pytest.approx(made.hits.mean())]
    assert means["loss"] == [pytest.approx(made.losses.mean(), rel=1e-5)]


def test_as_many_batches_as_test_iter_says(run, made, spark):
    text = (made.folder / "solver.prototxt").read_text()
    made.write("solver.prototxt", text.replace("test_iter: 17", "test_iter: 3"))
    code, out, _ = run(f"{BASE} -test -lmdb_partitions 7")
    assert (code, "test net 0: 60 records" in out) == (0, True)
    means = json.loads((made.folder / "output").read_text())
    assert means["loss"] == [pytest.approx(made.losses[:60].mean(), rel=1e-5)]


OUTPUTS = """
layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' include { phase: TEST } }
layer { name: 'total' type: 'Reduction' bottom: 'ip' top: 'total' include { phase: TEST }
        loss_weight: 1 }
"""


def test_outputs_of_every_kind(run, made, spark):
    made.write("net.prototxt", (made.folder / "net.prototxt").read_text() + OUTPUTS)
    made.write("solver.prototxt", "net: 'net.prototxt' base_lr: 1 lr_policy: 'fixed'")
    assert run(f"{BASE} -test -output means.json")[0] == 0
    means = json.loads((made.folder / "means.json").read_text())
    odds = np.exp(made.outputs)
    np.testing.assert_allclose(means["prob"], (odds / odds.sum(1, keepdims=True)).mean(0), 1e-5)
    batches = [made.outputs[start : start + 20] for start in range(0, 330, 20)]
    weights = [len(batch) / 330 for batch in batches]
    expected = np.dot(weights, [batch.sum() for batch in batches])  # a sum over each batch
    assert means["total"] == [pytest.approx(expected, rel=1e-4)]


def test_features_of_each_record(run, made, spark):
    arguments = "-features ip,accuracy,loss,data -label label -outputFormat parquet -output f"
    code, out, err = run(f"{BASE} {arguments}")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"tasks computed: [1-9] on the processor\nwrote f\n", out)
    table = pq.read_table("f").to_pandas().sort_values("SampleID")
    assert list(table.columns) == ["SampleID", "ip", "accuracy", "loss", "data", "label"]
    assert table["SampleID"].tolist() == [f"{i:08d}" for i in range(330)]  # the keys in the LMDB
    np.testing.assert_allclose(np.stack(table["ip"]), made.outputs, 1e-4, 1e-5)
    np.testing.assert_array_equal(np.concatenate(table["label"]), made.labels)
    np.testing.assert_array_equal(np.concatenate(table["accuracy"]), made.hits)
    np.testing.assert_allclose(np.concatenate(table["loss"]), made.losses, 1e-4, 1e-5)
    pixels = made.images.reshape(330, -1) / np.float32(256)
    np.testing.assert_array_equal(np.stack(table["data"]), pixels)


def test_features_as_json(run, made, spark):
    assert run(f"{BASE} -features ip -output rows")[0] == 0
    text = "".join(file.read_text() for file in made.folder.glob("rows/*.json"))
    rows = {row["SampleID"]: row["ip"] for row in map(json.loads, text.splitlines())}
    np.testing.assert_allclose(rows["00000329"], made.outputs[329], 1e-4, 1e-5)
    assert len(rows) == 330


MISTAKES = {
    "-features ipp -output f": "-features must name blobs of small in phase TEST: data, ip, "
    "label, accuracy, loss; got 'ipp'; did you mean 'ip'?",
    "-features ip -output lmdb": "lmdb: something is there already",
    "-test -weights w -conf none": "none: there is no such file",
    "-test -model none": "none: there is no such file",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_found_before_spark_starts(run, text, monkeypatch):
    monkeypatch.setattr("sparkdl.commands.caffe.command.session", None)
    code, out, err = run(f"{BASE} {text}")
    assert (code, out) == (2, "")
    assert MISTAKES[text] in err


def test_a_model_without_some_layer_is_told(run, made, spark):
    net = (made.folder / "net.prototxt").read_text().replace("top: 'ip'", "top: 'one'", 1)
    more = "layer { name: 'two' type: 'InnerProduct' bottom: 'one' top: 'ip' "
    more += "inner_product_param { num_output: 3 } }"
    made.write(
        "net.prototxt",
        net.replace("layer { name: 'accuracy'", f"{more}\nlayer {{ name: 'accuracy'"),
    )
    code, _, err = run(f"{BASE} -test")
    assert code == 0
    assert "small.caffemodel: has no weights of two; they keep their initial values" in err


def test_a_model_of_another_shape_is_refused(run, made):
    write_weights("other.caffemodel", {"ip": [np.zeros((3, 5), "f"), np.zeros(3, "f")]})
    code, _, err = run("-conf solver.prototxt -test -model other.caffemodel")
    assert (code, "layer 'ip'" in err) == (2, True)
