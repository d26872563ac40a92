"""A few seconds of `python -m tests.data.fuzz`, and its cases that once crashed."""

import random

import numpy as np
import pytest

from sparkdl.data.readers.encodings.tf_example import Example
from tests.data import fuzz
from tests.data.examples import example
from tests.data.guided_fuzz import explore_targets
from tests.data.message_mutation import message_mutated
from tests.support.fuzzing import drawn_seed


@pytest.mark.slow
def test_mutated_files_do_no_harm():
    counts, wrong = fuzz.run(seconds=1, seed=drawn_seed())
    assert not wrong
    assert min(counts.values()) >= fuzz.BATCH


@pytest.mark.slow
def test_guided_cases_do_no_harm(tmp_path):
    pytest.importorskip("atheris", reason="needs atheris: pip install atheris")
    [(name, told, wrong)] = explore_targets(0.2, tmp_path, ["Characters"])  # at least a second
    assert name == "Characters" and "s of CPU time" in told and not wrong
    assert len(list(tmp_path.glob("Characters/corpus/*"))) > 1  # it found new branches


class Unmade:
    name = "a"

    @staticmethod
    def good():
        raise OSError("there is no disk")


def test_a_target_without_a_good_file_ends_the_run(monkeypatch, capfd):
    monkeypatch.setitem(fuzz.TARGETS, "unmade", Unmade)
    with pytest.raises(RuntimeError, match="^unmade: its process ended with 1 before a case began"):
        list(fuzz.run_batch("unmade", 0, [1, 2]))
    assert "there is no disk" in capfd.readouterr().err


CRASHED = [  # cases that were fixed
    *(("LMDB", 0, number) for number in (28, 32, 893)),
    ("HDF5", 0, 462),
    ("Keras HDF5", 7, 634),
    ("Parquet", 228061541, 44),
    ("ONNX network", 838816259, 15),
]


def test_one_field_of_a_message_changes():
    good = Example.FromString(example(np.zeros(3, np.uint8), 3))
    found = [
        message_mutated(good.SerializeToString(), Example, random.Random(seed))
        for seed in range(3000)
    ]
    features = [Example.FromString(one).features.feature for one in found]
    assert {len(one) for one in features} == {0, 1, 2, 3}
    labels = {n for one in features for f in one for n in f.value.int64_list.value}
    assert {2**63 - 1, -(2**63)} <= labels
    assert message_mutated(b"\xff", Example, random.Random(0)) is None


TENSOR = b'{"class_name": "__keras_tensor__", "config": [1]}'
CALLED = b'{"class_name": "Flatten", "name": "f", "inbound_nodes": [{"args": [%s]}]}' % TENSOR
POOLING = b"type: 'Pooling' pooling_param { kernel_size: 2 stride: 0 }"
FOUND = [  # files that the guided mode found, minimized
    ("mean .npy", b"\x93NUMPY\x01\0\x04\0((3,"),
    ("list of images", b"\0 1"),
    ("Keras JSON", b'{"class_name": "Functional", "config": {"layers": [%s]}}' % CALLED),
    (
        "Caffe net",
        b"input: 'x' %s layer { bottom: 'x' top: 'p' %s }" % (b"input_dim: 4 " * 4, POOLING),
    ),
]


@pytest.mark.parametrize("name, content", FOUND)
def test_what_the_guided_mode_found(name, content):
    assert not list(fuzz.run_batch(name, 0, [content]))


@pytest.mark.parametrize("name, seed, number", CRASHED)
def test_what_did_harm_once(name, seed, number):
    assert not list(fuzz.run_batch(name, seed, [number]))
