"""Networks written as ONNX files, operation by operation."""

from dataclasses import replace

import numpy as np
from google.protobuf.message import EncodeError
from onnx import TensorProto, checker, helper, numpy_helper

from sparkdl.data import files
from sparkdl.errors import ShapeError, UnsupportedError
from sparkdl.interop.onnx.bag_operations import BagWriter
from sparkdl.interop.onnx.operations import WRITERS
from sparkdl.interop.translated_network import need
from sparkdl.nn.execution.inference_graph import inference_graph, parts_of
from sparkdl.training.saving.stored_tables import read_tables

OPSET = 17
IR_VERSION = 8  # read by every onnxruntime that knows opset 17
BATCH = "batch"
PRIMES = 251, 509, 1021, 2039, 4093  # batch sizes that represent any batch size


def write_onnx(network, path, outputs=None):
    """Writes a Network, for prediction, as an ONNX file of opset 17 for batches of any size.

    The file has the network's inputs, by name, and an output for each layer in `outputs`. Sequences
    have the length of the network's configuration, without masks. Bags become inputs of ids (batch,
    width), int64, and weights; an id that was never trained has a row of 0, while `predict` draws
    one within `EmbeddingBag.scale`.

    Parameters
    ----------
    network : Network
    path : path
        A file, local or a URI; an existing one is replaced.
    outputs : str or sequence of str, optional
        Names of layers, or a single name. None: the network's outputs, or its last layer if it has
        none.

    Raises
    ------
    UnsupportedError
        Lists all operations that opset 17 cannot express, each with its layer and the reason;
        nothing is written.
    ConfigError
        A name of `outputs` is no layer.
    """
    model = onnx_model(network, outputs)
    files.write(path, model.SerializeToString())


def onnx_model(network, outputs=None):
    """Returns the ModelProto that `write_onnx` writes, checked by the `onnx` package."""
    conf = replace(network.conf, dtype="float32")
    outputs = [outputs] if isinstance(outputs, str) else outputs
    names = list(outputs or [place.name for place in conf.outputs] or [conf.stack[-1].name])
    batch = batch_for(conf)
    try:
        state = network.state
        graph = inference_graph(conf, state.params, state.buffers, batch, names)
    except ShapeError as error:  # from layers that cut the batch themselves
        raise UnsupportedError(f"batches of any size must fit the network: {error}") from error
    mixed = [name for name, tensor in graph.outputs.items() if tensor.shape[0] != batch]
    if mixed:
        raise UnsupportedError(f"outputs must have a row for each example; {mixed} have others")
    writer = OnnxWriter(graph, batch, conf, read_tables(state.tables))
    whole = helper.make_graph(
        writer.nodes,
        "network",
        writer.describe_inputs(graph),
        [writer.describe(name, tensor.shape) for name, tensor in graph.outputs.items()],
        writer.constants,
    )
    model = helper.make_model(
        whole,
        opset_imports=[helper.make_opsetid(*pair) for pair in writer.domains.items()],
        ir_version=IR_VERSION,
        producer_name="sparkdl",
    )
    try:
        checker.check_model(model, full_check=True)
    except (ValueError, EncodeError) as error:  # protobuf's size limit
        raise UnsupportedError(f"a network must be below 2 GB as an ONNX file: {error}") from error
    return model


def batch_for(conf):
    """Returns a batch size that divides no length in the network, to be recognized in shapes."""
    shapes = [*conf.input_shapes.values(), *(place.out_shape for place in conf.stack)]
    shapes += [shape for place in conf.stack for shape in place.param_shapes.values()]
    lengths = {length for shape in shapes for length in shape}
    return next(p for p in PRIMES if not any(length % p == 0 for length in lengths))


class OnnxWriter:
    """The ONNX nodes and constants of an engine graph and of its network's tables.

    Attributes
    ----------
    nodes : list of NodeProto
    constants : list of TensorProto
    domains : {domain: opset}
        Of the nodes.
    """

    def __init__(self, graph, batch, conf, tables):
        self.batch = batch
        self.nodes, self.constants, self.refused = [], [], []
        self.count, self.size_name, self.domains = 0, None, {"": OPSET}
        self.bags = BagWriter(self, conf, tables)
        self.names = {
            tensor: self.bags.names.get(name, name) for name, tensor in graph.inputs.items()
        }
        self.first_input = next(iter(self.names.values()))
        for node in graph.nodes:
            self.write(node)
        if self.refused:
            lines = "\n  ".join(dict.fromkeys(self.refused))
            raise UnsupportedError(f"ONNX has no form for these operations:\n  {lines}")
        for name, tensor in graph.outputs.items():
            self.nodes.append(helper.make_node("Identity", [self.name(tensor)], [name]))

    def write(self, node):
        """Writes a node, or notes why it cannot be written."""
        try:
            rule = WRITERS.get(node.op.kind)
            outputs = rule(self, node) if rule else self.write_parts(node)
        except (UnsupportedError, NotImplementedError) as error:
            self.refused.append(f"{node.op.kind} of layer {node.scope or '?'}: {error}")
            outputs = [""] * len(node.outputs)
        for tensor, name in zip(node.outputs, [outputs] if isinstance(outputs, str) else outputs):
            self.names[tensor] = name

    def write_parts(self, node):
        """Writes a node as the simpler operations it decomposes into; returns its result's name."""
        inputs, parts, result = parts_of(node)
        pairs = zip(inputs, node.inputs, strict=True)
        self.names |= {new: self.name(old) for new, old in pairs if old.value is None}
        for part in parts:
            self.write(part)
        return self.name(result)

    def name(self, tensor):
        """Returns the name of a tensor; a constant is stored at its first use."""
        if tensor not in self.names:
            self.names[tensor] = self.constant(tensor.value)
        return self.names[tensor]

    def constant(self, value):
        """Returns the name of a constant; one with an equal row per example is expanded."""
        value = np.asarray(value)
        for axis, length in enumerate(value.shape):
            if length and length % self.batch == 0:
                one = np.take(value, [0], axis)
                self.need((value == one).all(), "a constant that differs between examples")
                return self.expand(self.constant(one), one.shape, value.shape)
        return self.store(value)

    def store(self, value):
        """Stores a constant unchanged; returns its name."""
        self.count += 1
        name = f"constant_{self.count}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, op, *inputs, outputs=1, **attributes):
        """Adds a node; returns the name of its output, or a list of names if it has several."""
        self.count += 1
        names = [f"{op}_{self.count}" + (f"_{n}" if outputs > 1 else "") for n in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names if outputs > 1 else names[0]

    def integers(self, *values):
        return self.constant(np.array(values, np.int64))

    def reshape(self, name, shape):
        """Returns the name of a reshaped tensor; one length may depend on the batch."""
        lengths = [-1 if self.is_open(length) else length for length in shape]
        self.need(lengths.count(-1) < 2, f"the shape {shape}")
        return self.add("Reshape", name, self.integers(*lengths))

    def expand(self, name, before, shape):
        """Returns the name of a tensor expanded from shape `before` to `shape`."""
        padded = (1,) * (len(shape) - len(before)) + tuple(before)
        lengths = [1 if old == new else new for old, new in zip(padded, shape, strict=True)]
        if not any(map(self.is_open, lengths)):
            return self.add("Expand", name, self.integers(*lengths))
        parts = [
            self.batch_size(length // self.batch) if self.is_open(length) else self.integers(length)
            for length in lengths
        ]
        return self.add("Expand", name, self.add("Concat", *parts, axis=0))

    def batch_size(self, times):
        """Returns the name of a tensor (1,) with the batch size, or a multiple of it."""
        if self.size_name is None:
            shape = self.add("Shape", self.first_input)
            self.size_name = self.add("Slice", shape, self.integers(0), self.integers(1))
        if times == 1:
            return self.size_name
        return self.add("Mul", self.size_name, self.integers(times))

    def is_open(self, length):
        """Returns whether a length depends on the batch size."""
        return length > 0 and length % self.batch == 0

    need = staticmethod(need)

    def describe_inputs(self, graph):
        """Returns the ValueInfoProtos of the inputs; bags become inputs of ids."""
        own = {n: t.shape for n, t in graph.inputs.items() if n not in self.bags.names}
        ids = [(n, (self.batch, width), kind) for n, (kind, width) in self.bags.inputs.items()]
        return [self.describe(*each) for each in (*own.items(), *ids)]

    def describe(self, name, shape, kind=TensorProto.FLOAT):
        """Returns the ValueInfoProto of an input or output."""
        axes = [
            (BATCH if length == self.batch else f"{length // self.batch} {BATCH}")
            if self.is_open(length)
            else length
            for length in shape
        ]
        return helper.make_tensor_value_info(name, kind, axes)
