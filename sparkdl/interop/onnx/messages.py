"""ONNX files as messages, checked, and the arrays in them."""

import onnx
from google.protobuf.message import DecodeError
from onnx import checker, numpy_helper, version_converter

from sparkdl.data import files
from sparkdl.errors import DataError, UnsupportedError

OLDEST = 9  # of those that the `onnx` package brings to RULED
RULED = 13  # the first opset whose operations are translated as they are
DAMAGE = (checker.ValidationError, DecodeError, ValueError, TypeError, RuntimeError, KeyError)


def read_model(path):
    """Returns the ModelProto in a file, local or a URI, after onnx's own check.

    Raises
    ------
    DataError
        If it cannot be read, or is damaged.
    UnsupportedError
        For opsets before 9 or after those of the `onnx` package, and for weights in other files.
    """
    with files.open(path) as file:
        content = file.read()
    try:
        model = onnx.load_model_from_string(content)
    except DAMAGE as error:
        raise DataError(f"{path} is not an ONNX file: {error}") from error
    check_files(model, path)
    opset = opset_of(model, path)
    try:
        checker.check_model(model)
    except DAMAGE as error:
        raise DataError(f"{path} is damaged: {error}") from error
    return model if opset >= RULED else convert(model, path)


def convert(model, path):
    """Returns a model of an older opset as one of the first whose operations are known here."""
    try:
        return version_converter.convert_version(model, RULED)
    except (*DAMAGE, version_converter.ConvertError) as error:
        raise UnsupportedError(f"{path} cannot be brought to opset {RULED}: {error}") from error


def opset_of(model, path):
    """Returns the opset of a model, if it is one of those that are read."""
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    newest = onnx.defs.onnx_opset_version()
    if len(versions) != 1 or not OLDEST <= versions[0] <= newest:
        raise UnsupportedError(f"{path}: opset must be of {OLDEST} to {newest}, got {versions}")
    return versions[0]


def check_files(model, path):
    """Refuses arrays that lie in other files: a file must not name what else is read."""
    nodes = [attribute.t for node in model.graph.node for attribute in node.attribute]
    tensors = [*model.graph.initializer, *nodes]
    outside = [tensor.name for tensor in tensors if tensor.data_location == tensor.EXTERNAL]
    if outside:
        raise UnsupportedError(f"{path}: weights in other files are not read: {outside}")


def array_of(tensor, path):
    """Returns the array of a TensorProto."""
    try:
        return numpy_helper.to_array(tensor)
    except DAMAGE as error:
        raise DataError(f"{path}: a constant is damaged: {error}") from error


def attributes_of(node):
    """Returns {name: number, text or list} of a NodeProto."""
    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return {k: v.decode() if isinstance(v, bytes) else plain(v) for k, v in values.items()}


def plain(value):
    """Returns repeated fields as lists."""
    return list(value) if isinstance(value, list | tuple) else value
