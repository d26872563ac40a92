"""ONNX files as predictors, against onnxruntime itself and numpy."""

import pickle
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sparkdl.errors import DataError, UnsupportedError
from sparkdl.interop.onnx import OnnxFunctionPredictor, OnnxPredictor
from sparkdl.interop.predictors import ArraySpec
from tests.interop.onnx.models import node

of_both = pytest.mark.parametrize("kind_of", [OnnxPredictor, OnnxFunctionPredictor])


def file_of(folder, shape, kind=TensorProto.FLOAT, nodes=None, out=None):
    x = helper.make_tensor_value_info("x", kind, shape)
    y = helper.make_tensor_value_info("y", kind, shape if out is None else out)
    nodes = nodes or [node("Neg", "x")]
    graph = helper.make_graph(nodes, "net", [x], [y])
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), folder / "a.onnx")
    return folder / "a.onnx"


@of_both
@pytest.mark.parametrize(
    ("shape", "kind", "spec", "n"),
    [
        (["n", 3], TensorProto.FLOAT, ArraySpec("float32", (3,)), 4),
        (["n", "t"], TensorProto.INT64, ArraySpec("int64", (None,)), 4),
        (["n"], TensorProto.DOUBLE, ArraySpec("float64", ()), 4),
        ([1, 2, 3], TensorProto.FLOAT, ArraySpec("float32", (2, 3)), 4),
    ],
    ids=["floats", "open axis", "scalars", "one by one"],
)
def test_it_is_known_by_its_specs_and_computes(kind_of, shape, kind, spec, n, tmp_path):
    predictor = kind_of(file_of(tmp_path, shape, kind))
    assert predictor.inputs == {"x": spec} and predictor.outputs == {"y": spec}
    sizes = [axis or 5 for axis in spec.shape]
    x = np.arange(n * int(np.prod(sizes))).reshape(n, *sizes).astype(spec.dtype)
    run = pickle.loads(pickle.dumps(predictor)).load(["y"])
    np.testing.assert_array_equal(run({"x": x})["y"], -x)


@of_both
def test_lengths_that_a_file_says_of_outputs_are_no_promise(kind_of, tmp_path):
    predictor = kind_of(file_of(tmp_path, ["n", "t"], out=["n", 7]))
    assert predictor.outputs == {"y": ArraySpec("float32", (None,))}
    found = predictor.load(["y"])({"x": np.ones((2, 5), np.float32)})
    np.testing.assert_array_equal(found["y"], np.full((2, 5), -1))


@of_both
@pytest.mark.parametrize(
    ("shape", "kind", "says"),
    [
        (["n", 3], TensorProto.STRING, "array of numbers"),
        ([], TensorProto.FLOAT, "array of numbers"),
        ([2, 3], TensorProto.FLOAT, "dynamic axis"),
    ],
    ids=["texts", "one number", "batches of two"],
)
def test_what_has_no_examples_in_front_is_refused(kind_of, shape, kind, says, tmp_path):
    path = file_of(tmp_path, shape, kind, [node("Identity", "x")])
    with pytest.raises(UnsupportedError, match=says):
        kind_of(path)


def outside(folder):
    """Returns a tensor whose values are in an external file, as ONNX allows."""
    (folder / "secret").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    tensor = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "secret"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    return tensor


def sparse(tensor):
    places = helper.make_tensor("i", TensorProto.INT64, [4], range(4))
    return onnx.SparseTensorProto(values=tensor, indices=places, dims=[4])


def of_constant(tensor):
    return helper.make_node("Constant", [], ["w"], value=tensor)


def branches(tensor):
    w = helper.make_tensor_value_info("w", TensorProto.FLOAT, [4])
    one = helper.make_graph([of_constant(tensor)], "branch", [], [w])
    on = helper.make_node("Constant", [], ["on"], value=helper.make_tensor("on", 9, [], [True]))
    return [on, helper.make_node("If", ["on"], ["w"], then_branch=one, else_branch=one)], {}


def function(tensor):
    known = [helper.make_opsetid("", 17)]
    made = helper.make_function("own", "F", [], ["w"], [of_constant(tensor)], known)
    return [helper.make_node("F", [], ["w"], domain="own")], {"functions": [made]}


OUTSIDE = {
    "constant": lambda tensor: ([of_constant(tensor)], {}),
    "sparse constant": lambda tensor: (
        [helper.make_node("Constant", [], ["w"], sparse_value=sparse(tensor))],
        {},
    ),
    "initializer": lambda tensor: ([], {"initializer": [tensor]}),
    "sparse initializer": lambda tensor: ([], {"sparse_initializer": [sparse(tensor)]}),
    "branches": branches,
    "function": function,
}


@of_both
@pytest.mark.parametrize("name", OUTSIDE)
def test_weights_in_other_files_are_not_read(kind_of, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where onnxruntime looks for it
    nodes, more = OUTSIDE[name](outside(tmp_path))
    functions = more.pop("functions", [])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 4]) for n in "xy")
    graph = helper.make_graph([*nodes, helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y])
    for field, values in more.items():
        getattr(graph, field).extend(values)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions)
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(UnsupportedError, match="weights in other files are not read: .'w'."):
        kind_of("a.onnx").load(["y"])({"x": np.zeros((1, 4), np.float32)})


@of_both
def test_a_damaged_file_is_an_error_of_data(kind_of, tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"abc")
    with pytest.raises(DataError, match="cannot be loaded|is not an ONNX file"):
        kind_of(tmp_path / "a.onnx")


def test_a_missing_onnx_is_named_with_its_cure():
    code = "import sys; sys.modules['onnx'] = None; import sparkdl.interop.onnx"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "sparkdl.errors.UnsupportedError: sparkdl.interop.onnx needs onnx: "
        "pip install 'sparkdl-hadoop[onnx]'"
    )
