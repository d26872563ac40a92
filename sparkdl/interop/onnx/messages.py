"""ONNX files as messages, checked, and the arrays in them."""

import onnx
from google.protobuf.message import DecodeError
from onnx import checker, numpy_helper

from sparkdl.data import files
from sparkdl.errors import DataError, UnsupportedError

OLDEST = 13
DAMAGE = (checker.ValidationError, DecodeError, ValueError, TypeError, RuntimeError, KeyError)


def read_model(path):
    """Returns the ModelProto in a file, local or a URI, after onnx's own check.

    Raises
    ------
    DataError
        If it cannot be read, or is damaged.
    UnsupportedError
        For opsets before 13 or after those of the `onnx` package, and for weights in other files.
    """
    with files.open(path) as file:
        content = file.read()
    try:
        model = onnx.load_model_from_string(content)
    except DAMAGE as error:
        raise DataError(f"{path} is not an ONNX file: {error}") from error
    check_files(model, path)
    check_opset(model, path)
    try:
        checker.check_model(model)
    except DAMAGE as error:
        raise DataError(f"{path} is damaged: {error}") from error
    return model


def check_opset(model, path):
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    newest = onnx.defs.onnx_opset_version()
    if len(versions) != 1 or not OLDEST <= versions[0] <= newest:
        raise UnsupportedError(f"{path}: opset must be of {OLDEST} to {newest}, got {versions}")


def check_files(model, path):
    """Refuses weights that lie in other files: a file must not name what else is read."""
    outside = [t.name for t in model.graph.initializer if t.data_location == t.EXTERNAL]
    if outside:
        raise UnsupportedError(f"{path}: weights in other files are not read: {outside}")


def constants_of(graph, path):
    """Returns {tensor: array} of the initializers."""
    try:
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    except DAMAGE as error:
        raise DataError(f"{path}: a constant is damaged: {error}") from error


def attributes_of(node):
    """Returns {name: number, text or list} of a NodeProto."""
    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return {k: v.decode() if isinstance(v, bytes) else plain(v) for k, v in values.items()}


def plain(value):
    """Returns repeated fields as lists."""
    return list(value) if isinstance(value, list | tuple) else value
