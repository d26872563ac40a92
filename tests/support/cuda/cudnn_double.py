"""A module like `cudnn`, whose graphs are computed by numpy in memory of the host.

The formulas are of the tests (cudnn_formulas.py), none is sparkdl's.

It reads and writes what it was told of shapes, strides, types and places, so wrong ones show in the
numbers. What the real one refuses for an H200, as planned without one, it refuses too, and some
more: any order of memory but the one that is fast.
"""

import ctypes
from enum import Enum
from math import prod
from types import SimpleNamespace

import ml_dtypes
import numpy as np

from tests.support.cuda.cudnn_formulas import (
    back_to_image,
    back_to_weight,
    normal,
    normal_back,
    windowed,
)

__version__ = "1.28.0"
TYPES = {"BFLOAT16": ml_dtypes.bfloat16, "HALF": "f2", "FLOAT": "f4", "NOT_SET": ""}
data_type = Enum("data_type", {name: name for name in TYPES})
heur_mode = Enum("heur_mode", ["A", "FALLBACK"])
build_plan_policy = Enum("build_plan_policy", ["HEURISTICS_CHOICE", "ALL"])
numerical_note = Enum("numerical_note", ["NONDETERMINISTIC", "TENSOR_CORE", "DOWN_CONVERT_INPUTS"])
norm_forward_phase = Enum("norm_forward_phase", ["TRAINING", "INFERENCE"])
FLOATS = data_type.BFLOAT16, data_type.HALF, data_type.FLOAT
WORKSPACE, ALIGNMENT = 1000, 16
KEPT, RUN = [], []  # graphs that were written down; the engine of each run


class cudnnGraphNotSupportedError(RuntimeError):
    pass


def backend_version():
    return 92800


def create_handle():
    return SimpleNamespace(stream=None)


def set_stream(handle, stream):
    handle.stream = stream


def refuse(holds, why):
    if not holds:
        raise cudnnGraphNotSupportedError(f"CUDNN_STATUS_NOT_SUPPORTED; Reason: {why}\nmore")


class Tensor:
    def __init__(self, dim=None, stride=None, data_type=None, uid=None, by_value=False, made=None):
        self.dim, self.stride, self.type, self.uid = dim, stride, data_type, uid
        self.by_value, self.made, self.output = by_value, made, False

    def set_output(self, value):
        self.output = value
        return self

    def set_uid(self, uid):
        self.uid = uid
        return self

    def set_data_type(self, kind):
        self.type = kind
        return self

    def set_dim(self, dim):
        self.dim = dim
        return self

    def set_stride(self, stride):
        self.stride = stride
        return self

    @property
    def placed(self):
        return self.made is None or self.output

    def at(self, address):
        """The memory at an address as this tensor."""
        dtype = np.dtype(TYPES[self.type.name])
        count = 1 + sum((n - 1) * s for n, s in zip(self.dim, self.stride, strict=True))
        memory = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(address)
        flat = np.frombuffer(memory, np.uint8).view(dtype)
        steps = [s * dtype.itemsize for s in self.stride]
        return np.lib.stride_tricks.as_strided(flat, self.dim, steps)


class pygraph:
    def __init__(self, handle, intermediate_data_type, compute_data_type):
        assert compute_data_type is data_type.FLOAT
        self.handle, self.wide, self.nodes, self.tensors = handle, intermediate_data_type, [], []
        self.ready = self.limited = False

    def tensor(self, name, dim, stride, data_type, uid, is_pass_by_value=False):
        made = Tensor(dim, stride, data_type, uid, is_pass_by_value)
        self.tensors.append(made)
        return made

    def node(self, kind, compute, count=1, **inputs):
        node = SimpleNamespace(kind=kind, inputs=inputs, compute=compute)
        node.outputs = [Tensor(data_type=self.wide, made=node) for _ in range(count)]
        self.nodes.append(node)
        self.tensors += node.outputs
        return node.outputs if count > 1 else node.outputs[0]

    def conv_fprop(self, image, weight, **windows):
        def compute(out, image, weight):
            return [windowed(image, weight, windows)]

        return self.node("fprop", compute, image=image, weight=weight)

    def conv_dgrad(self, loss, filter, **windows):
        def compute(out, loss, filter):
            return [back_to_image(loss, filter, out[0].dim, windows)]

        return self.node("dgrad", compute, loss=loss, filter=filter)

    def conv_wgrad(self, image, loss, **windows):
        def compute(out, image, loss):
            return [back_to_weight(loss, image, out[0].dim, windows)]

        return self.node("wgrad", compute, image=image, loss=loss)

    def bias(self, input, bias):
        return self.node("bias", lambda out, input, bias: [input + bias], input=input, bias=bias)

    def relu(self, input):
        return self.node("relu", lambda out, input: [np.maximum(input, 0)], input=input)

    def add(self, a, b):
        return self.node("add", lambda out, a, b: [a + b], a=a, b=b)

    def batchnorm(self, input, scale, bias, in_running_mean, in_running_var, epsilon, momentum):
        if in_running_mean in (scale, bias) or in_running_var in (scale, bias):
            raise RuntimeError("CUDNN_STATUS_BAD_PARAM: one tensor is read in two places")

        def compute(out, input, scale, bias, epsilon, **running):
            axes = (0, *range(2, input.ndim))
            results = normal(input, scale, bias, epsilon, axes)
            return [*results, *(np.full_like(scale, np.nan) for _ in running)][:5]

        return self.node("batchnorm", compute, 5, **given(locals()))

    def layernorm(self, norm_forward_phase, input, scale, bias, epsilon):
        assert norm_forward_phase.name == "TRAINING"

        def compute(out, input, scale, bias, epsilon):
            return normal(input, scale, bias, epsilon, (1, 2, 3))

        return self.node("layernorm", compute, 3, **given(locals(), "norm_forward_phase"))

    def batchnorm_backward(self, grad, input, scale, mean, inv_variance):
        def compute(out, grad, input, scale, mean, inv_variance):
            axes = (0, *range(2, input.ndim))
            return normal_back(grad, input, scale, mean, inv_variance, axes, axes)

        return self.node("batchnorm_backward", compute, 3, **given(locals()))

    def layernorm_backward(self, grad, input, scale, mean, inv_variance):
        def compute(out, grad, input, scale, mean, inv_variance):
            return normal_back(grad, input, scale, mean, inv_variance, (1, 2, 3), 0)

        return self.node("layernorm_backward", compute, 3, **given(locals()))

    def sdpa(self, q, k, v, is_inference, attn_scale, use_causal_mask):
        def compute(out, q, k, v):
            scores = attn_scale * np.matmul(q, k.swapaxes(2, 3))
            sums = logarithms(scores, use_causal_mask)
            o = np.matmul(np.exp(scores - sums), v)
            return [o] if is_inference else [o, sums]

        made = self.node("sdpa", compute, 1 if is_inference else 2, q=q, k=k, v=v)
        return (made, None) if is_inference else made

    def sdpa_backward(self, q, k, v, o, dO, stats, attn_scale, use_causal_mask):
        def compute(out, q, k, v, o, dO, stats):
            scores = attn_scale * np.matmul(q, k.swapaxes(2, 3))
            logarithms(scores, use_causal_mask)
            maps = np.exp(scores - stats)
            gmaps = np.matmul(dO, v.swapaxes(2, 3)) - (dO * o).sum(3, keepdims=True)
            gscores = attn_scale * maps * gmaps
            back = gscores.swapaxes(2, 3)
            return [np.matmul(gscores, k), np.matmul(back, q), np.matmul(maps.swapaxes(2, 3), dO)]

        words = given(locals(), "attn_scale", "use_causal_mask")
        return self.node("sdpa_backward", compute, 3, **words)

    def validate(self):
        for tensor in self.tensors:
            if tensor.placed:
                assert tensor.dim and len(tensor.dim) == len(tensor.stride), "no shape"
                assert all(type(n) is int for n in (tensor.uid, *tensor.dim, *tensor.stride))

    def build_operation_graph(self):
        ranks = {len(t.dim) for t in self.tensors if t.placed}
        if len(ranks) > 1:
            raise RuntimeError("CUDNN_STATUS_BAD_PARAM: getNbDims()")

    def create_execution_plans(self, modes):
        for node in self.nodes:
            types = {name: t.type for name, t in node.inputs.items()}
            RULES.get(node.kind, lambda *words: None)(self, node, types)
        attends = self.nodes[0].kind.startswith("sdpa")
        for tensor in self.tensors:
            if tensor.placed and not tensor.by_value and not attends:
                c, space = tensor.dim[1], tensor.dim[2:]
                fast = [c * prod(space), 1, *(c * prod(space[i + 1 :]) for i in range(len(space)))]
                pairs = zip(tensor.dim, tensor.stride, fast, strict=True)
                refuse(all(n == 1 or have == want for n, have, want in pairs), "channels not last")

    def get_execution_plan_count(self):
        return 4

    def deselect_numeric_notes(self, notes):
        assert notes in ([*numerical_note], [numerical_note.NONDETERMINISTIC])

    def deselect_workspace_greater_than(self, size):
        self.limited = True

    def check_support(self):
        assert self.limited

    def build_plans(self, policy):
        self.index = 0
        self.ready = True

    def build_plan_at_index(self, index):
        if index == 1:
            raise ValueError("plan 1 is excluded by deselect_engines()/a note filter")
        if index == 3:
            raise ImportError("No module named 'cuda'")
        self.index = index

    def get_workspace_size(self):
        assert self.ready
        return WORKSPACE

    def serialize(self):
        KEPT.append(self)
        return list(str(len(KEPT)).encode())

    def deserialize(self, handle, data):
        assert handle is self.handle and not self.nodes
        kept = KEPT[int(bytes(data)) - 1]
        self.nodes, self.tensors, self.index, self.ready = (
            kept.nodes,
            kept.tensors,
            kept.index,
            True,
        )

    def execute(self, pack, workspace, handle):
        assert handle is self.handle and handle.stream is not None and self.ready
        assert set(pack) == {t.uid for t in self.tensors if t.placed}
        assert all(type(address) is int for address in (*pack.values(), workspace))
        assert not any(pack[t.uid] % ALIGNMENT for t in self.tensors if t.placed and not t.by_value)
        RUN.append(self.index)
        ctypes.memset(workspace, 0xFF, WORKSPACE)
        values = {}
        for tensor in self.tensors:
            if tensor.made is None:
                values[tensor] = tensor.at(pack[tensor.uid]).astype("f8")
        for node in self.nodes:
            inputs = {name: values[t] for name, t in node.inputs.items()}
            results = node.compute(node.outputs, **inputs)
            for tensor, value in zip(node.outputs, results, strict=True):
                values[tensor] = np.asarray(value).astype(TYPES[tensor.type.name]).astype("f8")
                if tensor.output:
                    tensor.at(pack[tensor.uid])[...] = value


def given(words, *others):
    return {n: t for n, t in words.items() if n not in ("self", "compute", *others)}


def logarithms(scores, causal):
    """The logarithms of softmax's sums; what is not seen is taken out of the scores."""
    if causal:
        scores[..., np.triu(np.ones(scores.shape[2:], bool), 1)] = -np.inf
    top = scores.max(3, keepdims=True)
    return top + np.log(np.exp(scores - top).sum(3, keepdims=True))


def attends(graph, node, types):
    kinds = {t for name, t in types.items() if name != "stats"}
    refuse(kinds < {data_type.BFLOAT16, data_type.HALF}, "attention of float32")
    sizes = {t.dim[3] for name, t in node.inputs.items() if name != "stats"}
    refuse(all(n % 8 == 0 and n <= 128 for n in sizes), f"heads of {sizes} numbers")
    for tensor in (*node.inputs.values(), *node.outputs):
        refuse(tensor.stride[3] == 1, "numbers of a head apart")


def convolves(graph, node, types):
    kind, *others = set(types.values())
    refuse(kind in FLOATS and not others, f"inputs of {types}")
    last = graph.tensors[-1] if node.kind == "fprop" else node.outputs[0]
    refuse(last.output and last.type is kind, "an output of another type")
    behind = [n.kind for n in graph.nodes]
    refuse(behind in (["fprop"], ["fprop", "bias"], ["fprop", "bias", "relu"], [node.kind]), behind)


def biases(graph, node, types):
    image = graph.nodes[0].inputs["image"].type
    refuse(types["bias"] is image, "a bias of another type, which is compiled for long")


def normalizes(graph, node, types):
    refuse(types["scale"] is types["bias"] is data_type.FLOAT, "parameters of 16 bits")
    behind = [n.kind for n in graph.nodes[1:]]
    refuse(behind in ([], ["relu"], ["add", "relu"]), f"{behind} behind a normalization")
    refuse(all(t.output for t in node.outputs[1:]), "statistics that nobody takes")
    wide_enough(node.inputs["input"])


def normalizes_rows(graph, node, types):
    refuse(len(graph.nodes) == 1, "something beside a layer's normalization")


def normalizes_back(graph, node, types):
    refuse(types["grad"] is types["input"], "a gradient of another type: set its data type")
    wide_enough(node.inputs["input"])


def wide_enough(x):
    size = np.dtype(TYPES[x.type.name]).itemsize
    refuse(x.dim[1] * size % 16 == 0, f"{x.dim[1]} channels are no multiple of 16 bytes")


RULES = {
    "bias": biases,
    "fprop": convolves,
    "dgrad": convolves,
    "wgrad": convolves,
    "batchnorm": normalizes,
    "batchnorm_backward": normalizes_back,
    "layernorm": normalizes_rows,
    "layernorm_backward": normalizes_rows,
    "sdpa": attends,
    "sdpa_backward": attends,
}
