"""Small ONNX models for the tests, and onnxruntime's outputs of them."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, shape_inference


def model(nodes, shape, constants=None, opset=17, inferred=True):
    """Returns a ModelProto from "x" (batch, *shape) to "y", of an inferred or the same shape."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *shape])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None if inferred else ["n", *shape])
    stored = [numpy_helper.from_array(v, name) for name, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "net", [x], [y], stored)
    imports = [helper.make_opsetid("", opset)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=8)
    return shape_inference.infer_shapes(made) if inferred else made


def node(op, *inputs, to="y", **attributes):
    return helper.make_node(op, list(inputs), [to], **attributes)


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def saved(made, folder):
    path = folder / "net.onnx"
    onnx.save(made, path)
    return str(path)


def expected(made, x):
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["y"], {"x": x})[0]
