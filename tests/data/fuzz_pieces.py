"""The parsers of pieces of files, of streams and of files that go with others: more targets."""

import io
import json
import random
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from sparkdl.config.text import from_yaml
from sparkdl.data import LMDB, Characters, Images, MeanImage, Source, TextSequences, files
from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.datum import decode
from sparkdl.exchange.links.tag import tag_of
from sparkdl.exchange.messages.message import pack_message, unpack_message
from sparkdl.exchange.store.client import optimizer_states
from sparkdl.interop.caffe import (
    SolverState,
    Vocab,
    coco_captions,
    read_net,
    read_solver,
    read_solver_state,
    write_solver_state,
)
from sparkdl.nn import NetworkConf
from sparkdl.training.network import Network
from sparkdl.training.saving.manifest import write_directory
from sparkdl.training.saving.table_file import map_arrays, pieces_of
from tests.data.examples import example, tfrecord
from tests.data.fuzz_targets import CONF, IMAGE, TARGETS, Target, all_of, database, text_of, written
from tests.data.lmdbs import datum
from tests.exchange.fuzz import LIMIT, read_link, read_wire, some_frame
from tests.interop.caffe import nets

CALL = tag_of(0, False, 0, "a call")
PICTURE, TEXT = "picture.png", "Zeilen, größer als ASCII\n"
CAPTIONS = {
    "images": [{"id": 1, "height": 2, "width": 3, "file_name": "a.jpg", "flickr_url": "u"}],
    "annotations": [{"id": 4, "image_id": 1, "caption": "A dog."}],
}
SOLVER = """net: "net.prototxt" test_iter: 10 test_interval: 5 base_lr: 0.1 lr_policy: "multistep"
stepvalue: 10 stepvalue: 20 gamma: 0.1 momentum: 0.9 weight_decay: 0.01 regularization_type: "L1"
type: "Nesterov" max_iter: 40 snapshot: 5 snapshot_prefix: "a" clip_gradients: 3 random_seed: 3
"""


def one_example(path):
    """Reads a mutated Example whose checksum is right."""
    whole = path.with_suffix(".tfrecord")
    whole.write_bytes(tfrecord(path.read_bytes()))
    TARGETS["TFRecords"].read(whole)


def datums(path):
    with suppress(Violation):  # readers turn it into an error that names the record
        decode([path.read_bytes(), datum(IMAGE, 3)])


def mean_array():
    file = io.BytesIO()
    np.save(file, np.ones((3, 4, 5), np.float32))
    return file.getvalue()


def images_of(path):
    """Reads a mutated list of images, each of which is the same valid one."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, PICTURE).write_bytes(TARGETS["PNG"].good())
        all_of(partial(Images, list_file=str(path)), folder)


def remote_database(path):
    with files.open("memory://fuzz/data.mdb", "wb") as file:
        file.write(path.read_bytes())
    source = LMDB("memory://fuzz/data.mdb")
    source.splits()


def model_part(name):
    """Returns the target of one file of a model, which is mutated before its checksum is made."""

    def contents():
        with tempfile.TemporaryDirectory() as folder:
            Network(NetworkConf.from_json(CONF)).save(f"{folder}/model")
            parts = Path(folder, "model").iterdir()
            return {part.name: part.read_bytes() for part in parts if part.stem != "manifest"}

    def read(path):
        with tempfile.TemporaryDirectory() as folder:
            write_directory(f"{folder}/model", contents() | {name: path.read_bytes()})
            Network.load(f"{folder}/model")

    return Target(good=lambda: contents()[name], read=read)


def table_file():
    ids, rows = np.arange(5), np.ones(20, np.float32)
    arrays = [("t/ids", ids.dtype, 5, [ids]), ("t/rows", rows.dtype, 20, [rows])]
    return b"".join(pieces_of(arrays))


def vocabulary(path):
    Vocab.load(str(path)).encode("a dog and a cat", 6)


TARGETS = TARGETS | {
    "Example": Target(good=lambda: example(IMAGE, 3), read=one_example),
    "Datum": Target(good=lambda: datum(IMAGE, 3), read=datums),
    "LMDB, remote": Target(good=lambda: database(4, 900), read=remote_database),
    "mean .npy": Target(
        good=mean_array, read=lambda path: MeanImage(path=str(path)).image, name="a.npy"
    ),
    "list of images": Target(good=lambda: f"{PICTURE} 3\n{PICTURE} 1\n".encode(), read=images_of),
    "Text": Target(good=lambda: TEXT.encode() * 9, read=partial(all_of, TextSequences)),
    "Characters": Target(
        good=lambda: b'{"characters": "abc \\u00e9\\ud83d\\ude00"}',
        read=lambda path: Characters.load(str(path)).encode("abc"),
    ),
    "captions": Target(
        good=json.dumps(CAPTIONS).encode, read=lambda path: coco_captions(str(path))
    ),
    "vocabulary": Target(good=lambda: b"UNK\na\ndog\n", read=vocabulary),
    "Caffe net": Target(
        good=lambda: Path(nets.path("cifar10_full")).read_bytes(),
        read=lambda path: read_net(str(path), "TEST", shapes={"data": (3, 32, 32)}),
    ),
    "Caffe solver": Target(good=SOLVER.encode, read=lambda path: read_solver(str(path))),
    "solverstate": Target(
        good=lambda: written(
            lambda path: write_solver_state(
                str(path), SolverState(iteration=3, history=(np.ones(5),), weights="a")
            )
        ),
        read=lambda path: read_solver_state(str(path)),
    ),
    **{
        f"model {name}": model_part(name)
        for name in ("network.json", "training.json", "vectors.safetensors")
    },
    "table file": Target(
        good=table_file,
        read=lambda path: map_arrays(str(path), np.fromfile(path, np.uint8)),
    ),
    "Source": Target(
        good=lambda: b"{type: Csv, path: a.csv, label: -1, delimiter: ';', header: false}",
        read=text_of(lambda text: Source.from_dict(from_yaml(text))),
    ),
    "optimizer states": Target(
        good=lambda: written(
            lambda path: optimizer_states.write(path, {"w": {"velocity": np.ones(3)}})
        ),
        read=optimizer_states.read,
    ),
    "message": Target(
        good=lambda: bytes(pack_message({"a": [1]}, [np.ones((2, 3), "f4"), b"ab"])[1]),
        read=lambda path: unpack_message(path.read_bytes(), LIMIT),
    ),
    "Wire": Target(
        good=lambda: b"".join(pack_message({"a": [1]}, [np.ones((2, 3), "f4"), b"ab"])) * 2,
        read=lambda path: read_wire(path.read_bytes()),
    ),
    "Link": Target(
        good=lambda: b"".join(some_frame(CALL, random.Random(i)) for i in range(9)),
        read=lambda path: read_link(path.read_bytes(), CALL),
    ),
}
