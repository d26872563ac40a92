"""Parsing, checking and conversion of ONNX files."""

import onnx
from google.protobuf.message import DecodeError
from onnx import checker, numpy_helper, version_converter

from sparkdl.data.whole_files import read_whole
from sparkdl.errors import DataError, UnsupportedError, brief

OLDEST = 7  # opset; the `onnx` package converts it to RULED
RULED = 13  # first opset whose operations are translated without conversion
CHANGED = {"Hardmax": 13, "Scan": 9}  # changed operations, not converted by onnx
# The coordinates that Upsample uses, as attributes of Resize.
OF_UPSAMPLE = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
DAMAGE = (checker.ValidationError, DecodeError, ValueError, TypeError, RuntimeError, KeyError)


def read_model(path):
    """Returns the ModelProto in a file, local or a URI, after onnx's own check.

    Raises
    ------
    DataError
        If it cannot be read, or is damaged.
    UnsupportedError
        For opsets before 7 or after those of the `onnx` package, and for weights in other files.
    """
    return parse_model(read_whole(path), path)


def parse_model(content, path):
    """Returns the ModelProto of a file's bytes; see `read_model`."""
    model = message_of(content, path)
    opset = opset_of(model, path)
    try:
        checker.check_model(model)
    except DAMAGE as error:
        raise DataError(f"{path} is damaged: {error}") from error
    return model if opset >= RULED else convert(model, path)


def message_of(content, path):
    """Returns the ModelProto of a file's bytes, after a check for external files only."""
    try:
        model = onnx.load_model_from_string(content)
    except DAMAGE as error:
        raise DataError(f"{path} is not an ONNX file: {error}") from error
    check_files(model, path)
    check_splits(model.graph, path)
    return model


def convert(model, path):
    """Returns a model of an older opset converted to RULED."""
    opset = opset_of(model, path)
    ops = {node.op_type for graph in graphs_of(model.graph) for node in graph.node}
    if changed := sorted(op for op, since in CHANGED.items() if op in ops and opset < since):
        raise UnsupportedError(f"{path}: {changed} of opset {opset} is not supported")
    try:
        converted = version_converter.convert_version(model, RULED)
    except (*DAMAGE, version_converter.ConvertError) as error:
        raise UnsupportedError(f"{path} cannot be brought to opset {RULED}: {error}") from error
    if opset < 11:
        correct_resizing(converted.graph, opset, path)
    return converted


def correct_resizing(graph, opset, path, around=None):
    """Adds the coordinates of Upsample and of Resize in opset 10, which onnx's converter omits.

    Opset 10 does not define the nearest pixel when it shrinks, so that raises UnsupportedError.
    `around` has the constants of the enclosing graphs.
    """
    known = (around or {}) | {tensor.name: tensor for tensor in graph.initializer}
    known |= {n.output[0]: n.attribute[0].t for n in graph.node if n.op_type == "Constant"}
    for node in graph.node:
        for inner in graphs_in(node):
            correct_resizing(inner, opset, path, known)
        if node.op_type == "Resize":
            scales = known.get(node.input[2])
            grows = opset < 10 or (scales is not None and (array_of(scales, path) >= 1).all())
            if not grows and attributes_of(node).get("mode") != "linear":
                raise UnsupportedError(f"{path}: a Resize of opset 10 to fewer pixels")
            ways = OF_UPSAMPLE.items()
            node.attribute.extend(onnx.helper.make_attribute(*way) for way in ways)


def opset_of(model, path):
    """Returns the opset of a model; UnsupportedError if it is not in the supported range."""
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    newest = onnx.defs.onnx_opset_version()
    if len(versions) != 1 or not OLDEST <= versions[0] <= newest:
        raise UnsupportedError(f"{path}: opset must be of {OLDEST} to {newest}, got {versions}")
    return versions[0]


def check_files(model, path):
    """Raises UnsupportedError for external data: a file must not make us read other files."""
    tensors = tensors_in(model)
    outside = [tensor.name for tensor in tensors if tensor.data_location == tensor.EXTERNAL]
    if outside:
        raise UnsupportedError(f"{path}: weights in other files are not read: {brief(outside)}")


def check_splits(graph, path):
    """Raises DataError for a Split into another number of parts than it has outputs.

    onnx does not check this, and its shape inference then ends the process.
    """
    for node in (node for each in graphs_of(graph) for node in each.node):
        for attribute in node.attribute if node.op_type == "Split" else ():
            if attribute.name == "num_outputs" and attribute.i != len(node.output):
                raise DataError(
                    f"{path} is damaged: num_outputs of a Split must be {len(node.output)}, the "
                    f"number of its outputs, got {attribute.i}"
                )


def tensors_in(message):
    """Yields the TensorProtos anywhere in a message: of graphs, functions, sparse tensors ..."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for each in [value] if hasattr(value, "ListFields") else value:
                if isinstance(each, onnx.TensorProto):
                    yield each
                else:
                    yield from tensors_in(each)


def graphs_of(graph):
    """Yields a graph and the graphs in it."""
    yield graph
    for node in graph.node:
        for inner in graphs_in(node):
            yield from graphs_of(inner)


def graphs_in(node):
    """Yields the graphs that are attributes of a node, such as branches."""
    for attribute in node.attribute:
        yield from (attribute.g, *attribute.graphs)


def array_of(tensor, path):
    """Returns the array of a TensorProto."""
    try:
        return numpy_helper.to_array(tensor)
    except DAMAGE as error:
        raise DataError(f"{path}: a constant is damaged: {error}") from error


def attributes_of(node):
    """Returns {name: number, text or list} of a NodeProto."""
    try:
        values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        return {k: v.decode() if isinstance(v, bytes) else plain(v) for k, v in values.items()}
    except ValueError as error:
        raise DataError(
            f"attributes of {node.op_type} must be of known types, and their texts UTF-8"
        ) from error


def plain(value):
    """Returns repeated fields as lists."""
    return list(value) if isinstance(value, list | tuple) else value
