"""The parsers of foreign files, each with a valid file and a function that reads it."""

import functools
import gzip
import io
import json
import struct
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import fastavro
import h5py
import lmdb
import numpy as np
import onnx
import safetensors.numpy
from onnx import helper, numpy_helper

from sparkdl.config.text import from_json, from_yaml
from sparkdl.data import HDF5, LMDB, AvroFiles, Cifar, Idx, TFRecords
from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.image_codec import decode_image, encode_image
from sparkdl.exchange.rendezvous.member import GroupMember
from sparkdl.interop.caffe.checkpoints.solver_state import read_solver_state
from sparkdl.interop.caffe.checkpoints.weights import read_weights, write_weights
from sparkdl.interop.caffe.messages.blobs import read_mean, write_mean
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import MESSAGES
from sparkdl.interop.dl4j import read_dl4j
from sparkdl.interop.keras import read_keras
from sparkdl.interop.onnx import OnnxFunction, read_onnx, write_onnx
from sparkdl.interop.torch import read_torch, read_transformer
from sparkdl.nn import GraphConf, NetworkConf, zoo
from sparkdl.training.network import Network
from sparkdl.training.report.page import page
from sparkdl.training.report.run_folder import read_run
from tests.data.lmdbs import datum
from tests.data.sources import KINDS, encode_avro, encode_tfrecords, records
from tests.interop.torch.weights.modules import PERCEPTRON

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (3, 20, 30)).astype(np.uint8)
NET = 'name: "n" layer { name: "a" type: "InnerProduct" inner_product_param { num_output: 3 } }'
LAYERS = '[{"type": "dense", "units": 3}, {"type": "output", "units": 2}]'
CONF = f'{{"input_shape": [4], "layers": {LAYERS}}}'
KERAS_INPUT = '{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [null, 3]}}'
KERAS_DENSE = '{"class_name": "Dense", "config": {"name": "dense", "units": 2}}'
KERAS = (
    '{"class_name": "Sequential", "config": {"name": "s", "layers": '
    f"[{KERAS_INPUT}, {KERAS_DENSE}]}}}}"
)
GRAPH = "inputs: {x: [4]}\nvertices:\n- {name: out, layer: {type: output, units: 3}, inputs: x}\n"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A parser: functions that make a valid file's contents and read it, and the file's name."""

    good: Callable
    read: Callable
    name: str = "file"


def all_of(source, path):
    """Reads a source to its end."""
    source = source(str(path))
    for split in source.splits():
        for batch in source.read(split):
            assert len(batch) <= 1 << 22


def text_of(parse):
    """Returns a function that parses the text of a file, unless it is not UTF-8."""

    def read(path):
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            return
        parse(text)

    return read


def image_of(path):
    with suppress(Violation):  # readers turn it into an error that names the record
        decode_image(path.read_bytes())


def written(write, name="file"):
    """Returns the bytes that `write` writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path)
        return path.read_bytes()


def idx(count=40):
    return struct.pack(">HBBIII", 0, 8, 3, count, 5, 4) + RNG.bytes(count * 20)


def avro(codec):
    file = io.BytesIO()
    items = {"type": "array", "items": ["null", "int", "double"]}
    fields = [{"name": "features", "type": items}, {"name": "label", "type": "int"}]
    schema = {"type": "record", "name": "example", "fields": fields}
    pairs = [{"features": [i, 2.5, 300], "label": i} for i in range(60)]
    fastavro.writer(file, schema, pairs, codec=codec, sync_interval=200)
    return file.getvalue()


def hdf5(**options):
    def write(path):
        with h5py.File(path, "w") as file:
            file.create_dataset("data", data=RNG.integers(0, 256, (40, 3, 4)), **options)
            file["label"] = np.arange(40)

    return written(write)


def database(width, count):
    def write(path):
        with lmdb.open(str(path), subdir=False, map_size=1 << 24, lock=False) as place:
            with place.begin(write=True) as transaction:
                for i in range(count):
                    image = np.full((1, width, width), i % 256, np.uint8)
                    transaction.put(b"%08d" % i, datum(image, i))

    return written(write)


def caffe_weights(name):
    arrays = {"a": [np.ones((3, 4), np.float32), np.ones(3, np.float32)]}
    return written(lambda path: write_weights(str(path), arrays), name)


def state(path):
    with h5py.File(path, "w") as file:
        file["iter"], file["current_step"] = np.array([3]), np.array([0])
        file["learned_net"] = np.bytes_("a.caffemodel.h5")
        file.create_group("history")["0"] = np.ones(5, np.float32)


def keras_arrays(path):
    """Writes the weights file of a Sequential with one Dense."""
    with h5py.File(path, "w") as file:
        group = file.create_group("layers/dense/vars")
        group["0"], group["1"] = np.ones((3, 2), np.float32), np.ones(2, np.float32)


def keras_archive(path):
    weights = written(keras_arrays)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        archive.writestr("config.json", KERAS)
        archive.writestr("model.weights.h5", weights)


def keras_model(path):
    """Writes the whole model in the format of Keras 2."""
    with h5py.File(path, "w") as file:
        file.attrs["model_config"], file.attrs["keras_version"] = KERAS, "2.4.0"
        group = file.create_group("model_weights/dense")
        group.attrs["weight_names"] = ["dense/kernel:0", "dense/bias:0"]
        group["dense/kernel:0"] = np.ones((3, 2), np.float32)
        group["dense/bias:0"] = np.ones(2, np.float32)


def dl4j_archive(path, stored=zipfile.ZIP_STORED):
    """Writes a model of Deeplearning4j with this compression of its members."""
    saved = Path(__file__).parents[1] / "interop/dl4j/models/mlp.zip"
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w", stored) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))


def dl4j_member(name):
    """Returns the target of one member, which is mutated and then zipped with a valid checksum."""

    def good():
        return written(lambda path: path.write_bytes(member_of(name)))

    def read(path):
        content = path.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder, "model.zip")
            with zipfile.ZipFile(whole, "w") as archive:
                for other in DL4J_MEMBERS:
                    archive.writestr(other, content if other == name else member_of(other))
            read_dl4j(str(whole))

    return Target(good=good, read=read)


TORCH = Path(__file__).parents[1] / "interop/torch/weights/models/perceptron.pt"


def torch_pickle(path):
    """Reads a mutated pickle in a valid archive."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, "a.pt")
        with zipfile.ZipFile(TORCH) as old, zipfile.ZipFile(whole, "w") as new:
            for name in old.namelist():
                mutated = name.endswith("data.pkl")
                new.writestr(name, path.read_bytes() if mutated else old.read(name))
        read_torch(str(whole), PERCEPTRON)


def torch_member():
    with zipfile.ZipFile(TORCH) as archive:
        return next(archive.read(name) for name in archive.namelist() if "data.pkl" in name)


GPT2 = b"""{"model_type": "gpt2", "vocab_size": 9, "n_positions": 4, "n_embd": 4, "n_layer": 1,
 "n_head": 2, "n_inner": 6, "resid_pdrop": 0.1, "activation_function": "gelu_new"}"""


def gpt2_weights():
    """Returns the safetensors of a GPT-2 that classifies into two classes."""
    shapes = {"ln_1": (4,), "attn.c_attn": (4, 12), "attn.c_proj": (4, 4)}
    shapes |= {"ln_2": (4,), "mlp.c_fc": (4, 6), "mlp.c_proj": (6, 4)}
    arrays = {f"h.0.{name}.weight": shape for name, shape in shapes.items()}
    arrays |= {f"h.0.{name}.bias": shape[-1:] for name, shape in shapes.items()}
    arrays |= {"wte.weight": (9, 4), "wpe.weight": (4, 4), "score.weight": (2, 4)}
    arrays |= {"ln_f.weight": (4,), "ln_f.bias": (4,)}
    return safetensors.numpy.save({n: np.ones(s, np.float32) for n, s in arrays.items()})


def transformer_file(good, name):
    """Returns the target of one file of a Hugging Face folder, read with the valid other one."""

    def read(path):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "config.json").write_bytes(GPT2)
            Path(folder, "model.safetensors").write_bytes(gpt2_weights())
            Path(folder, name).write_bytes(path.read_bytes())
            read_transformer(folder)

    return Target(good=good, read=read)


def safetensors_file():
    with np.load(TORCH.with_suffix(".npz")) as file:
        return safetensors.numpy.save({name: x for name, x in file.items() if "." in name})


def onnx_function(path):
    """Runs a mutated model on zeros."""
    function = OnnxFunction(str(path))
    function.run({name: np.zeros((2, 1, 6, 6), np.float32) for name in function.inputs})


def onnx_file():
    """Returns a net with windows, reshapes, a counted loop and a sum."""
    value = helper.make_tensor_value_info
    inputs = [value(name, kind, []) for name, kind in (("i", 7), ("on", 9), ("a", 1))]
    nodes = [helper.make_node("Identity", ["on"], ["go"]), helper.make_node("Abs", ["a"], ["b"])]
    body = helper.make_graph(nodes, "body", inputs, [value("go", 9, []), value("b", 1, [])])
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "s"], ["r"]),
        helper.make_node("ReduceSum", ["r"], ["t"], keepdims=0),
        helper.make_node("Loop", ["n", "", "t"], ["l"], body=body),
        helper.make_node("Expand", ["l", "e"], ["y"]),
    ]
    arrays = {
        "w": np.ones((2, 1, 3, 3), np.float32),
        "s": np.array([-1, 18]),
        "n": np.array(3),
        "e": np.array([2, 3]),
    }
    stored = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    x, y = value("x", 1, ["n", 1, 6, 6]), value("y", 1, [2, 3])
    graph = helper.make_graph(nodes, "net", [x], [y], stored)
    imports = [helper.make_opsetid("", 18)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=8)
    with tempfile.TemporaryDirectory() as folder:  # so that loading the engine is not counted
        onnx.save(made, Path(folder, "net.onnx"))
        onnx_function(Path(folder, "net.onnx"))
    return made.SerializeToString()


def onnx_network(path):
    """Runs a mutated network on zeros."""
    read_onnx(str(path)).run(np.zeros((2, 4, 3), np.float32))


def onnx_network_file():
    """Returns a net with an LSTM over steps and a softmax over rows."""
    value, rng = helper.make_tensor_value_info, np.random.default_rng(0)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node("LSTM", ["t", "w", "r"], ["s"], hidden_size=2),
        helper.make_node("Squeeze", ["s", "one"], ["u"]),
        helper.make_node("Transpose", ["u"], ["v"], perm=[1, 0, 2]),
        helper.make_node("Reshape", ["v", "rows"], ["m"]),
        helper.make_node("Softmax", ["m"], ["p"], axis=-1),
        helper.make_node("Reshape", ["p", "back"], ["y"]),
    ]
    weights = {name: rng.random((1, 8, n), np.float32) for name, n in (("w", 3), ("r", 2))}
    shapes = {"one": np.array([1]), "rows": np.array([-1, 2]), "back": np.array([-1, 4, 2])}
    stored = [numpy_helper.from_array(v, name) for name, v in (weights | shapes).items()]
    x, y = value("x", 1, ["n", 4, 3]), value("y", 1, ["n", 4, 2])
    graph = helper.make_graph(nodes, "net", [x], [y], stored)
    imports = [helper.make_opsetid("", 18)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=8)
    with tempfile.TemporaryDirectory() as folder:  # so that loading the engine is not counted
        onnx.save(made, Path(folder, "net.onnx"))
        onnx_network(Path(folder, "net.onnx"))
    return made.SerializeToString()


def onnx_attention(path):
    """Runs a mutated network of tokens on token 0."""
    net = read_onnx(str(path))
    shapes = net.network.conf.input_shapes
    net.run({name: np.zeros((2, *shape), np.float32) for name, shape in shapes.items()})


def onnx_attention_file():
    """Returns a small transformer as `write_onnx` writes it."""
    small = {"symbols": 9, "steps": 3, "width": 4, "depth": 1, "heads": 2}
    with tempfile.TemporaryDirectory() as folder:
        write_onnx(Network(zoo.transformer(**small)), Path(folder, "net.onnx"))
        onnx_attention(Path(folder, "net.onnx"))
        return Path(folder, "net.onnx").read_bytes()


def model_file(name):
    with tempfile.TemporaryDirectory() as folder:
        Network(NetworkConf.from_json(CONF)).save(f"{folder}/model")
        return Path(folder, "model", name).read_bytes()


def model_manifest(path):
    """Reads a model with a mutated manifest."""
    with tempfile.TemporaryDirectory() as folder:
        Network(NetworkConf.from_json(CONF)).save(f"{folder}/model")
        Path(folder, "model/manifest.json").write_bytes(path.read_bytes())
        Network.load(f"{folder}/model")


def fit_log():
    lines = [
        {"event": "start", "format": 1, "time": "2026-11-28T22:00:00Z", "epoch": 0, "round": 0}
        | {"epochs": 2, "rounds_in_epoch": 2, "network": None, "environment": [["a", "b"]]},
        {"event": "workers", "devices": {"cpu": 1}, "memory": [210, 220]},
    ]
    for i in range(4):
        place = {"event": "round", "epoch": i // 2, "round": i % 2, "iteration": i + 1}
        times = {"second": 0.5 * i, "seconds": [0.1, 0.2, 0.1, 0.1]}
        figures = {"workers": [[32, 0.1, 0.2, 0.1]] * 2, "sent": [70, 70]}
        lines.append(place | {"loss": 0.7} | times | figures)
        if i % 2:
            figures = {"score": 0.9, "figures": {"loss": 0.5, "accuracy": 0.9}}
            lines.append({"event": "epoch", "epoch": i // 2} | figures)
    lines.append({"event": "phases", "seconds": {"compute": 0.8, "reading": 0.4}})
    lines.append({"event": "end", "reason": None, "aggregation": None, "data_were_kept": True})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def read_log(path):
    page([read_run(path.parent)])


DL4J_MEMBERS = ("configuration.json", "coefficients.bin", "updaterState.bin", "normalizer.bin")


@functools.cache
def member_of(name):
    content = written(dl4j_archive)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name)


TARGETS = {
    name: Target(
        good=functools.partial(kind.encode, *records(25)),
        read=functools.partial(all_of, kind.source),
        name=f"file{kind.ending}",
    )
    for name, kind in KINDS.items()
}
TARGETS |= {
    f"AvroFiles, {codec}": Target(
        good=functools.partial(avro, codec), read=functools.partial(all_of, AvroFiles)
    )
    for codec in ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")
}
TARGETS |= {
    "Idx": Target(good=idx, read=functools.partial(all_of, Idx)),
    "Idx, gzipped": Target(good=lambda: gzip.compress(idx()), read=functools.partial(all_of, Idx)),
    "Cifar": Target(good=lambda: RNG.bytes(3073 * 4), read=functools.partial(all_of, Cifar)),
    "TFRecords, gzipped": Target(
        good=lambda: gzip.compress(encode_tfrecords(*records(25))),
        read=functools.partial(all_of, TFRecords),
    ),
    "TFRecords, images": Target(
        good=lambda: encode_tfrecords(*records(25)),
        read=functools.partial(all_of, functools.partial(TFRecords, content="images")),
    ),
    "AvroFiles, images": Target(
        good=lambda: encode_avro(*records(5)),
        read=functools.partial(all_of, functools.partial(AvroFiles, content="images")),
    ),
    "HDF5, chunks": Target(
        good=lambda: hdf5(chunks=(10, 3, 4), compression="gzip", shuffle=True),
        read=functools.partial(all_of, HDF5),
        name="file.h5",
    ),
    "PNG": Target(good=lambda: encode_image(IMAGE, "PNG"), read=image_of),
    "JPEG": Target(good=lambda: encode_image(IMAGE, "JPEG"), read=image_of),
    "LMDB": Target(good=lambda: database(4, 900), read=functools.partial(all_of, LMDB)),
    "LMDB, large": Target(good=lambda: database(60, 40), read=functools.partial(all_of, LMDB)),
    "JSON": Target(good=CONF.encode, read=text_of(from_json)),
    "YAML": Target(good=GRAPH.encode, read=text_of(from_yaml)),
    "NetworkConf": Target(good=CONF.encode, read=text_of(NetworkConf.from_json)),
    "GraphConf": Target(good=GRAPH.encode, read=text_of(GraphConf.from_yaml)),
    "prototxt": Target(
        good=NET.encode, read=text_of(lambda text: parse_text(text, MESSAGES["NetParameter"]))
    ),
    "caffemodel": Target(
        good=lambda: caffe_weights("a.caffemodel"), read=lambda path: read_weights(str(path))
    ),
    "caffemodel.h5": Target(
        good=lambda: caffe_weights("a.caffemodel.h5"),
        read=lambda path: read_weights(str(path)),
        name="a.caffemodel.h5",
    ),
    "solverstate.h5": Target(
        good=lambda: written(state),
        read=lambda path: read_solver_state(str(path)),
        name="a.solverstate.h5",
    ),
    "Keras archive": Target(
        good=lambda: written(keras_archive), read=lambda path: read_keras(str(path))
    ),
    "Keras HDF5": Target(
        good=lambda: written(keras_model), read=lambda path: read_keras(str(path))
    ),
    "Deeplearning4j archive": Target(
        good=lambda: written(lambda path: dl4j_archive(path, zipfile.ZIP_DEFLATED)),
        read=lambda path: read_dl4j(str(path)),
    ),
    **{  # coefficients.bin is read like updaterState.bin
        f"Deeplearning4j {name}": dl4j_member(name)
        for name in ("configuration.json", "updaterState.bin", "normalizer.bin")
    },
    "ONNX": Target(good=onnx_file, read=onnx_function),
    "ONNX network": Target(good=onnx_network_file, read=onnx_network),
    "ONNX attention": Target(good=onnx_attention_file, read=onnx_attention),
    "torch archive": Target(
        good=TORCH.read_bytes, read=lambda path: read_torch(str(path), PERCEPTRON)
    ),
    "torch pickle": Target(good=torch_member, read=torch_pickle),
    "safetensors": Target(
        good=safetensors_file,
        read=lambda path: read_torch(
            str(path), PERCEPTRON, names={"dense_1": "0", "output_1": "2"}
        ),
    ),
    "transformer config": transformer_file(lambda: GPT2, "config.json"),
    "transformer weights": transformer_file(gpt2_weights, "model.safetensors"),
    "Keras JSON": Target(good=KERAS.encode, read=lambda path: read_keras(str(path))),
    "mean": Target(
        good=lambda: written(lambda path: write_mean(str(path), np.ones((3, 4, 5)))),
        read=lambda path: read_mean(str(path)),
    ),
    "manifest": Target(good=functools.partial(model_file, "manifest.json"), read=model_manifest),
    "log of a fit": Target(good=fit_log, read=read_log, name="fit.jsonl"),
    "member": Target(
        good=lambda: (
            GroupMember(rank=1, host="h", address="::1", port=1, machine="m", group="g")
            .to_json()
            .encode()
        ),
        read=text_of(GroupMember.from_json),
    ),
}
