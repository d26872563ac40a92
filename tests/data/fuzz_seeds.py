"""Further valid files of targets, and kinds of messages, from which guided exploring starts."""

import io
import json
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import fastavro
import onnx

from sparkdl.data.readers.encodings.datum import Datum
from sparkdl.data.readers.encodings.tf_example import Example
from sparkdl.errors import SparkdlError
from sparkdl.interop.caffe.messages.schema import RAW
from sparkdl.interop.keras import write_keras
from sparkdl.interop.keras.layers import RULES
from sparkdl.interop.onnx import write_onnx
from sparkdl.nn import zoo
from sparkdl.training.network import Network
from tests.data.fuzz_targets import KERAS_INPUT, written
from tests.interop.caffe import nets

DL4J = Path(__file__).parents[1] / "interop/dl4j/models"
CAFFE = ("lenet", "googlenet", "alexnet", "captions", "siamese", "autoencoder")
AVRO = [
    *(("float", 1.5), ("double", 2.5), ("long", 3), ("boolean", True), ("string", "4")),
    ("bytes", b"5"),
    ({"type": "fixed", "name": "three", "size": 3}, b"678"),
    ({"type": "array", "items": ["null", "float"]}, [1.5, None]),
    ({"type": "map", "values": "long"}, {"a": 1}),
    ({"type": "record", "name": "pair", "fields": [{"name": "n", "type": "long"}]}, {"n": 9}),
    ({"type": "enum", "name": "letter", "symbols": ["a", "b"]}, "b"),
]
LAYER = {"name": "a", "units": 2, "filters": 2, "kernel_size": [3], "pool_size": [2], "rate": 0.5}

MESSAGES = {  # what files of a target are
    **dict.fromkeys(("ONNX", "ONNX network", "ONNX attention"), onnx.ModelProto),
    "caffemodel": RAW["NetParameter"],
    "mean": RAW["BlobProto"],
    "solverstate": RAW["SolverState"],
    "Example": Example,
    "Datum": Datum,
}


def confs():
    yield zoo.lenet()
    yield zoo.cifar10_full()
    yield zoo.transformer(symbols=9, steps=3, width=4, depth=1, heads=2)
    yield zoo.googlenet()


def documents():
    return [conf.to_json().encode() for conf in confs()]


def keras_documents():
    """Yields a Sequential of each of Keras's layers, and the zoo networks that Keras has, too."""
    for kind in RULES:
        layers = [json.loads(KERAS_INPUT), {"class_name": kind, "config": LAYER}]
        whole = {"class_name": "Sequential", "config": {"name": "s", "layers": layers}}
        yield json.dumps(whole).encode()
    for conf in (zoo.lenet(), zoo.cifar10_full()):
        with suppress(SparkdlError), tempfile.TemporaryDirectory() as folder:
            write_keras(Network(conf), f"{folder}/a.keras")
            with zipfile.ZipFile(f"{folder}/a.keras") as archive:
                yield archive.read("config.json")


def dl4j_members(name):
    for path in sorted(DL4J.glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            if name in archive.namelist():
                yield archive.read(name)


def onnx_files():
    small = zoo.transformer(symbols=9, steps=3, width=4, depth=1, heads=2)
    for conf in (small, zoo.char_lstm(9, 3, 4)):
        yield written(lambda path, conf=conf: write_onnx(Network(conf), str(path)), "a.onnx")


def avro_files():
    """Yields a file for each kind of Avro's values as features."""
    for kind, value in AVRO:
        columns = {"features": kind, "label": ["null", "int"]}
        fields = [{"name": name, "type": of} for name, of in columns.items()]
        schema, file = {"type": "record", "name": "row", "fields": fields}, io.BytesIO()
        fastavro.writer(file, schema, [{"features": value, "label": 1}] * 3)
        yield file.getvalue()


def caffe_nets():
    return [Path(nets.path(name)).read_bytes() for name in CAFFE]


SEEDS = {
    "AvroFiles": avro_files,
    "Caffe net": caffe_nets,
    "prototxt": caffe_nets,
    "NetworkConf": documents,
    "GraphConf": documents,
    "model network.json": documents,
    "Keras JSON": keras_documents,
    "Deeplearning4j configuration.json": lambda: dl4j_members("configuration.json"),
    "Deeplearning4j updaterState.bin": lambda: dl4j_members("updaterState.bin"),
    "Deeplearning4j normalizer.bin": lambda: dl4j_members("normalizer.bin"),
    "ONNX network": onnx_files,
    "ONNX": onnx_files,
}
