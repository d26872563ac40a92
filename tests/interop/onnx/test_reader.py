"""Networks read from ONNX files, against onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from sparkdl.errors import ConfigError, DataError, SparkdlError, UnsupportedError
from sparkdl.interop.onnx import OnnxFunction, read_onnx
from sparkdl.nn import LossLayer
from sparkdl.training.transfer import replace_output
from tests.interop.onnx.models import drawn, expected, model, node, saved
from tests.support.tables import first_of_each, slow

POSITIVE = np.abs(drawn(9, 3)) + np.float32(0.5)
FILTERS = {"W": drawn(1, 4, 3, 3, 2), "b": drawn(2, 4)}
STATISTICS = {"g": drawn(1, 3), "h": drawn(2, 3), "m": drawn(3, 3), "v": POSITIVE}
WINDOW = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 0, 1]}
ZERO = np.zeros((), np.float32)
CORNERS = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
TRANSPOSED = {"strides": [2, 2], "pads": [1, 0, 1, 1], "output_padding": [1, 0]}
GATE = [node("GlobalAveragePool", "x", to="s"), node("Mul", "x", "s", to="m")]
LENET = [
    node("Conv", "x", "W", "b", to="c", pads=[1, 0, 1, 1]),
    node("Relu", "c", to="r"),
    node("MaxPool", "r", to="p", kernel_shape=[2, 2], strides=[2, 2]),
    node("Flatten", "p", to="f"),
    node("Gemm", "f", "V", "a", to="z", transB=1),
    node("Softmax", "z"),
]
LENET_WEIGHTS = FILTERS | {"V": drawn(4, 5, 48), "a": drawn(5, 5)}
IMAGE = (3, 6, 8)
BACK_TO_FIRST = {  # all of the first axis of an example, in reverse order
    name: np.array([number])
    for name, number in {"starts": -1, "ends": -(2**63) + 1, "axes": 1, "steps": -1}.items()
}

SEQUENCE, TWO = (5, 3), {"direction": "bidirectional"}


def weights_of(gates, count=1, peepholes=False):
    """Returns W, R, B and P of recurrent operations with 4 units on sequences of 3 features."""
    found = {
        "W": drawn(1, count, 4 * gates, 3),
        "R": drawn(2, count, 4 * gates, 4),
        "B": drawn(3, count, 8 * gates),
    }
    return found | ({"P": drawn(4, count, 12)} if peepholes else {})


def over_steps(op, *inputs, last=False, **options):
    """Returns the nodes of a recurrent operation that outputs all steps or the last state."""
    turned, names = node("Transpose", "x", to="t", perm=[1, 0, 2]), ["", "s"] if last else ["s"]
    made = helper.make_node(op, ["t", "W", "R", *inputs], names, hidden_size=4, **options)
    both = options.get("direction") == "bidirectional"
    if last:
        ends = [node("Transpose", "s", to="u", perm=[1, 0, 2]), node("Reshape", "u", "rows")]
        return [turned, made, *ends]
    if not both:
        ends = [node("Squeeze", "s", "one", to="u"), node("Transpose", "u", perm=[1, 0, 2])]
        return [turned, made, *ends]
    ends = [
        node("Transpose", "s", to="u", perm=[0, 2, 1, 3]),
        node("Reshape", "u", "joined", to="v"),
    ]
    return [turned, made, *ends, node("Transpose", "v", perm=[1, 0, 2])]


PLACES = {"one": np.array([1]), "joined": np.array([0, 0, -1]), "rows": np.array([-1, 4])}
PAIRS = PLACES | {"rows": np.array([-1, 8])}
HARD = {"activations": ["HardSigmoid", "Tanh"], "activation_alpha": [0.2], "activation_beta": [0.5]}
OF_STEPS = [
    node("Reshape", "x", "rows", to="r"),
    node("MatMul", "r", "w", to="m"),
    node("Add", "b", "m", to="a"),
    node("Softmax", "a", to="p", axis=-1),
    node("Reshape", "p", "back"),
]
RECURRENT = {
    "lstm": (over_steps("LSTM", "B"), SEQUENCE, weights_of(4) | PLACES),
    "lstm_without_bias": (over_steps("LSTM"), SEQUENCE, weights_of(4) | PLACES),
    "lstm_backwards": (
        over_steps("LSTM", "B", direction="reverse"),
        SEQUENCE,
        weights_of(4) | PLACES,
    ),
    "lstm_both_ways": (over_steps("LSTM", "B", **TWO), SEQUENCE, weights_of(4, 2) | PLACES),
    "lstm_last": (over_steps("LSTM", "B", last=True), SEQUENCE, weights_of(4) | PLACES),
    "lstm_last_both_ways": (
        over_steps("LSTM", "B", last=True, **TWO),
        SEQUENCE,
        weights_of(4, 2) | PAIRS,
    ),
    "lstm_peepholes": (
        over_steps("LSTM", "B", "", "", "", "P"),
        SEQUENCE,
        weights_of(4, peepholes=True) | PLACES,
    ),
    "gru": (over_steps("GRU", "B"), SEQUENCE, weights_of(3) | PLACES),
    "gru_reset_behind": (
        over_steps("GRU", "B", linear_before_reset=1),
        SEQUENCE,
        weights_of(3) | PLACES,
    ),
    "gru_hard": (over_steps("GRU", "B", **HARD), SEQUENCE, weights_of(3) | PLACES),
    "rnn": (over_steps("RNN", "B"), SEQUENCE, weights_of(1) | PLACES),
    "rnn_relu": (over_steps("RNN", "B", activations=["Relu"]), SEQUENCE, weights_of(1) | PLACES),
    "rows_of_sequences": (
        OF_STEPS,
        SEQUENCE,
        {"w": drawn(1, 3, 4), "b": drawn(2, 1, 4)}
        | {"rows": np.array([-1, 3]), "back": np.array([-1, 5, 4])},
    ),
    "max_of_steps": ([node("ReduceMax", "x", axes=[1], keepdims=0)], SEQUENCE, {}),
    "max_of_space": ([node("ReduceMax", "x", axes=[2, 3])], IMAGE, {}),
    "mean_of_steps": ([node("ReduceMean", "x", axes=[1])], SEQUENCE, {}),
    "sum_of_steps": (
        [node("ReduceSum", "x", "a", keepdims=0)],
        SEQUENCE,
        {"a": np.array([1])},
    ),
}

ONE = helper.make_tensor("one", TensorProto.INT64, [1], [1])
ABOVE = [  # m: whether the first feature of a step is positive
    node("Gather", "x", "i", to="f", axis=2),
    node("Relu", "f", to="r"),
    helper.make_node("Cast", ["r"], ["m"], to=TensorProto.BOOL),
]
CAST = [helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64)]
BACK = helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT)
HIDE = np.triu(np.full((5, 5), -np.inf, np.float32), 1)
ATTENTION = [
    node("MatMul", "x", "wq", to="q"),
    node("MatMul", "x", "wk", to="k"),
    node("Reshape", "q", "heads", to="qh"),
    node("Transpose", "qh", to="qt", perm=[0, 2, 1, 3]),
    node("Reshape", "k", "heads", to="kh"),
    node("Transpose", "kh", to="kt", perm=[0, 2, 3, 1]),
    node("MatMul", "qt", "kt", to="s"),
    node("Div", "s", "root", to="scaled"),
    node("Add", "scaled", "hide", to="hidden"),
    node("Softmax", "hidden", to="a", axis=3),
    node("MatMul", "a", "qt", to="m"),
    node("Transpose", "m", to="mt", perm=[0, 2, 1, 3]),
    node("Reshape", "mt", "flat"),
]
GENERAL = {  # building blocks of attention and of exported modules
    "attention": (
        ATTENTION,
        (5, 3),
        {"wq": drawn(1, 3, 8), "wk": drawn(2, 3, 8), "heads": np.array([-1, 5, 2, 4])}
        | {"root": np.array(2, np.float32), "hide": HIDE[None, None]}
        | {"flat": np.array([-1, 5, 8])},
    ),
    "add_places": ([node("Add", "x", "c")], (5, 3), {"c": drawn(1, 1, 5, 3)}),
    "add_rows": ([node("Add", "x", "c")], IMAGE, {"c": drawn(1, 8)}),
    "add_between": ([node("Add", "x", "c")], IMAGE, {"c": drawn(1, 6, 1)}),
    "divide_constant": ([node("Exp", "x", to="e"), node("Div", "c", "e")], IMAGE, {"c": ZERO + 3}),
    "subtract_constant": ([node("Sub", "c", "x")], IMAGE, {"c": drawn(1, 3, 1, 1)}),
    "subtract_means": (
        [node("ReduceMean", "x", to="m", axes=[-1]), node("Sub", "x", "m")],
        SEQUENCE,
        {},
    ),
    "subtract_from_means": (
        [node("ReduceMean", "x", to="m", axes=[-1]), node("Sub", "m", "x")],
        SEQUENCE,
        {},
    ),
    "divide_by_sum": (
        [node("Exp", "x", to="e"), node("ReduceSum", "e", "a", to="t"), node("Div", "e", "t")],
        SEQUENCE,
        {"a": np.array([2])},
    ),
    "erf": ([node("Erf", "x")], IMAGE, {}),
    "expand": (
        [
            node("Shape", "x", to="n"),
            node("Gather", "n", "first", to="b"),
            node("Concat", "b", "rest", to="s", axis=0),
            node("Expand", "c", "s", to="e"),
            node("Add", "x", "e"),
        ],
        (5, 3),
        {"first": np.array([0]), "rest": np.array([5, 3]), "c": drawn(1, 1, 5, 1)},
    ),
    "gather": ([node("Gather", "x", "i", axis=1)], IMAGE, {"i": np.array(-1)}),
    "gather_several": ([node("Gather", "x", "i", axis=3)], IMAGE, {"i": np.array([2, 3, 4])}),
    "greater": (
        [node("Greater", "x", "c", to="g"), helper.make_node("Cast", ["g"], ["y"], to=1)],
        IMAGE,
        {"c": ZERO},
    ),
    "look_up": (
        [
            node("Abs", "x", to="p"),
            helper.make_node("Cast", ["p"], ["i"], to=7),
            node("Gather", "w", "i"),
        ],
        (5,),
        {"w": drawn(1, 9, 3)},
    ),
    "slice": (
        [node("Slice", "x", "s", "e", "a")],
        IMAGE,
        {"s": np.array([1, -3]), "e": np.array([9, -1]), "a": np.array([1, 3])},
    ),
    "softmax_heads": ([node("Softmax", "x", axis=-1)], IMAGE, {}),
    "split": (
        [
            helper.make_node("Split", ["x", "l"], ["a", "b", "c"], axis=-1),
            node("Concat", "c", "a", to="y", axis=2),
        ],
        SEQUENCE,
        {"l": np.array([1, 1, 1])},
    ),
    "where_one_is_1": (
        [*ABOVE, node("Where", "m", "x", "c")],
        (5, 3),
        {"c": np.float32(1), "i": np.array([0])},
    ),
    "max_of_features": ([node("ReduceMax", "x", axes=[2])], SEQUENCE, {}),
    "norm_of_rows": (
        [OF_STEPS[0], node("LayerNormalization", "r", "g", to="n"), node("Reshape", "n", "back")],
        SEQUENCE,
        {"g": drawn(1, 3), "rows": np.array([-1, 3]), "back": np.array([-1, 5, 3])},
    ),
    "add_means": (
        [node("ReduceMean", "x", to="m", axes=[1]), node("Add", "x", "m")],
        IMAGE,
        {},
    ),
    "conv_line": ([node("Conv", "x", "W", pads=[1, 0])], (3, 8), {"W": drawn(1, 4, 3, 3)}),
    "matmul_images": ([node("MatMul", "x", "W")], IMAGE, {"W": drawn(1, 8, 4)}),
    "softmax_images": ([node("Softmax", "x", axis=1)], IMAGE, {}),
    "reduce_rows": ([node("ReduceSum", "x", "a")], IMAGE, {"a": np.array([2])}),
    "celu": ([node("Celu", "x", alpha=0.6)], IMAGE, {}),
    "class_token": (  # of a vision transformer: for each example, before the tokens
        [
            node("Shape", "x", to="n"),
            node("Slice", "n", "zero", "one", to="b"),
            node("Concat", "b", "rest", to="s", axis=0),
            node("Reshape", "s", "flat", to="r"),
            node("Shape", "r", to="k"),
            helper.make_node("ConstantOfShape", ["k"], ["ones"], value=ONE),
            node("Mul", "ones", "flat", to="open"),
            node("Equal", "r", "open", to="e"),
            node("Where", "e", "ones", "r", to="to"),
            node("Expand", "token", "to", to="t"),
            node("Concat", "t", "x", axis=1),
        ],
        SEQUENCE,
        {"zero": np.array([0]), "one": np.array([1]), "rest": np.array([-1, -1])}
        | {"flat": np.array([-1]), "token": drawn(1, 1, 1, 3)},
    ),
    "expand_computed": (
        [node("ReduceMean", "x", to="m", axes=[1, 2]), node("Expand", "m", "s")],
        IMAGE,
        {"s": np.array([1, 3, 2, 8])},
    ),
    "flatten_later": (
        [
            node("Flatten", "x", to="f", axis=2),
            node("Relu", "f", to="r"),
            node("Reshape", "r", "s"),
        ],
        IMAGE,
        {"s": np.array([-1, 3, 48])},
    ),
    "instance_norm": (
        [node("InstanceNormalization", "x", "g", "h", epsilon=1e-3)],
        IMAGE,
        {"g": drawn(1, 3), "h": drawn(2, 3)},
    ),
    "largest_of_channels": ([node("ReduceMax", "x", axes=[1], keepdims=0)], IMAGE, {}),
    "least_of_rows": ([node("ReduceMin", "x", axes=[2])], IMAGE, {}),
    "look_up_one": (  # columns of ids, each with its table
        [
            *CAST,
            node("Gather", "i", "first", to="a", axis=1),
            node("Gather", "w", "a"),
        ],
        (4,),
        {"first": np.array(0), "w": drawn(1, 9, 3)},
    ),
    "mean_of_heads": ([node("ReduceMean", "x", axes=[1], keepdims=0)], IMAGE, {}),
    "norm_of_features": ([node("ReduceL2", "x", axes=[2])], SEQUENCE, {}),
    "pixel_shuffle": ([node("DepthToSpace", "x", blocksize=2, mode="CRD")], (8, 3, 2), {}),
    "positions": (  # a part of a table, as long as the steps
        [
            node("Shape", "x", to="n"),
            node("Gather", "n", "at", to="steps"),
            node("Range", "at_0", "steps", "by", to="places"),
            node("Gather", "w", "places", to="p"),
            node("Add", "x", "p"),
        ],
        SEQUENCE,
        {"at": np.array(1), "at_0": np.array(0), "by": np.array(1), "w": drawn(1, 9, 3)},
    ),
    "resize_to_the_size_of_another": (
        [
            node("MaxPool", "x", to="p", kernel_shape=[2, 2], strides=[2, 2]),
            node("Shape", "x", to="n"),
            helper.make_node("Resize", ["p", "", "", "n"], ["y"], mode="nearest", **CORNERS),
        ],
        IMAGE,
        {},
    ),
    "softmax_of_steps": ([node("Softmax", "x", axis=1)], SEQUENCE, {}),
    "states_of_all_steps_and_the_last": (
        [
            node("Transpose", "x", to="t", perm=[1, 0, 2]),
            helper.make_node("LSTM", ["t", "W", "R", "B"], ["s", "l"], hidden_size=4, **TWO),
            node("Unsqueeze", "l", "zero", to="l1"),
            node("Concat", "s", "l1", to="j", axis=0),
            node("Transpose", "j", perm=[2, 0, 1, 3]),
        ],
        SEQUENCE,
        weights_of(4, 2) | {"zero": np.array([0])},
    ),
}

CASES = (
    RECURRENT
    | GENERAL
    | {
        "add_channels": ([node("Add", "x", "c")], IMAGE, {"c": drawn(1, 3, 1, 1)}),
        "add_features": ([node("Add", "c", "x")], (5,), {"c": drawn(1, 5)}),
        "add_itself": ([node("Add", "x", "x")], IMAGE, {}),
        "average_pool": ([node("AveragePool", "x", **WINDOW)], IMAGE, {}),
        "average_pool_all": ([node("AveragePool", "x", count_include_pad=1, **WINDOW)], IMAGE, {}),
        "absolute": ([node("Abs", "x")], IMAGE, {}),
        "add_gate": ([*GATE, node("Add", "s", "m")], IMAGE, {}),
        "batch_norm": (
            [node("BatchNormalization", "x", "g", "h", "m", "v", epsilon=1e-3)],
            IMAGE,
            STATISTICS,
        ),
        "clip_below": ([node("Clip", "x", "l")], IMAGE, {"l": ZERO}),
        "clip_above": ([node("Clip", "x", "", "h")], IMAGE, {"h": ZERO}),
        "clip": ([node("Clip", "x", "l", "h")], IMAGE, {"l": ZERO, "h": np.float32(0.7) + ZERO}),
        **{
            f"matrices_of_{rows}_rows": (
                [
                    node("Transpose", "x", perm=[1, 0, 2], to="t"),
                    node("MatMul", "t", "W", to="m"),
                    node("Transpose", "m", perm=[1, 0, 2]),
                ],
                (rows, 5),
                {"W": drawn(1, rows, 5, 2)},
            )
            for rows in (1, 4)
        },
        "concat": ([node("Concat", "x", "x", axis=1)], IMAGE, {}),
        "concat_last": ([node("Concat", "x", "x", axis=-1)], IMAGE, {}),
        "conv": ([node("Conv", "x", "W", "b", strides=[2, 1], pads=[1, 0, 2, 1])], IMAGE, FILTERS),
        "conv_same": ([node("Conv", "x", "W", auto_pad="SAME_UPPER")], IMAGE, FILTERS),
        "conv_same_strides": (
            [node("Conv", "x", "W", auto_pad="SAME_LOWER", strides=[4, 1])],
            IMAGE,
            FILTERS,
        ),
        "conv_same_lines": (
            [node("Conv", "x", "W", auto_pad="SAME_LOWER", strides=[2])],
            (3, 7),
            {"W": drawn(1, 4, 3, 4)},
        ),
        "pool_same": (
            [node("AveragePool", "x", auto_pad="SAME_UPPER", kernel_shape=[2, 3], strides=[2, 2])],
            IMAGE,
            {},
        ),
        "max_pool_same": (
            [node("MaxPool", "x", auto_pad="SAME_LOWER", kernel_shape=[2, 3], strides=[1, 2])],
            IMAGE,
            {},
        ),
        "max_pool_valid": (  # which has no padding, whatever its pads say
            [node("MaxPool", "x", auto_pad="VALID", kernel_shape=[2, 3], pads=[1, 1, 1, 1])],
            IMAGE,
            {},
        ),
        "conv_dilated": ([node("Conv", "x", "W", dilations=[2, 3])], IMAGE, FILTERS),
        "conv_groups": ([node("Conv", "x", "W", group=3)], IMAGE, {"W": drawn(1, 6, 1, 3, 3)}),
        "conv_transposed": (
            [node("ConvTranspose", "x", "W", "b", **TRANSPOSED)],
            IMAGE,
            {"W": drawn(1, 3, 2, 3, 2), "b": drawn(2, 2)},
        ),
        "conv_transposed_groups": (
            [node("ConvTranspose", "x", "W", group=3)],
            IMAGE,
            {"W": drawn(1, 3, 2, 3, 2)},
        ),
        "conv_transposed_volume": (
            [node("ConvTranspose", "x", "W", "b", strides=[1, 2, 1], output_padding=[0, 1, 0])],
            (2, 3, 4, 3),
            {"W": drawn(1, 2, 3, 2, 3, 2), "b": drawn(2, 3)},
        ),
        "conv_volume": ([node("Conv", "x", "W")], (2, 4, 5, 6), {"W": drawn(1, 3, 2, 2, 3, 3)}),
        "cast": ([helper.make_node("Cast", ["x"], ["y"], to=1)], IMAGE, {}),
        "depth_to_space": ([node("DepthToSpace", "x", blocksize=2)], (8, 3, 2), {}),
        "divide_both": ([node("Exp", "x", to="e"), node("Div", "x", "e")], IMAGE, {}),
        "divide": ([node("Div", "x", "c")], IMAGE, {"c": np.abs(drawn(1, 3, 1, 1)) + 1}),
        "dropout": ([node("Dropout", "x")], (5,), {}),
        "elu": ([node("Elu", "x", alpha=0.7)], IMAGE, {}),
        "flatten": ([node("Flatten", "x")], IMAGE, {}),
        "gemm": ([node("Gemm", "x", "W", "b")], (5,), {"W": drawn(1, 5, 4), "b": drawn(2, 1, 4)}),
        "gemm_number": (
            [node("Gemm", "x", "W", "b")],
            (5,),
            {"W": drawn(1, 5, 4), "b": drawn(2, 1)},
        ),
        "global_average": ([node("GlobalAveragePool", "x")], IMAGE, {}),
        "global_max": ([node("GlobalMaxPool", "x")], IMAGE, {}),
        "hard_sigmoid": ([node("HardSigmoid", "x", alpha=0.3)], IMAGE, {}),
        "hard_swish": ([node("HardSwish", "x")], IMAGE, {}),
        "identity": ([node("Identity", "x")], IMAGE, {}),
        "layer_norm": (
            [node("LayerNormalization", "x", "g", "h", epsilon=1e-3)],
            (4, 3),
            {"g": drawn(1, 3), "h": drawn(2, 3)},
        ),
        "layer_norm_scale": (
            [node("LayerNormalization", "x", "g", axis=1)],
            (4,),
            {"g": drawn(1, 4)},
        ),
        "leaky_relu": ([node("LeakyRelu", "x", alpha=0.2)], IMAGE, {}),
        "lenet": (LENET, IMAGE, LENET_WEIGHTS),
        "log_softmax": ([node("LogSoftmax", "x")], (5,), {}),
        "lrn": ([node("LRN", "x", size=3, alpha=0.9, beta=0.6, bias=2.0)], IMAGE, {}),
        "matmul": ([node("MatMul", "x", "W")], (5,), {"W": drawn(1, 5, 4)}),
        "matmul_steps": ([node("MatMul", "x", "W")], (3, 5), {"W": drawn(1, 5, 4)}),
        "max": ([node("Relu", "x", to="r"), node("Max", "x", "r", "x")], IMAGE, {}),
        "max_of_a_number": ([node("Max", "c", "x")], IMAGE, {"c": np.float32([0.25])}),
        "min": ([node("Relu", "x", to="r"), node("Min", "x", "r", "x")], IMAGE, {}),
        "min_of_a_number": ([node("Min", "c", "x")], IMAGE, {"c": np.float32([0.25])}),
        "min_of_one": ([node("Min", "x")], IMAGE, {}),
        "max_pool": ([node("MaxPool", "x", **WINDOW)], IMAGE, {}),
        "max_pool_ones": ([node("MaxPool", "x", kernel_shape=[3, 2])], IMAGE, {}),
        "logarithm": (
            [node("Exp", "x", to="e"), node("Log", "e", to="l"), node("Neg", "l")],
            IMAGE,
            {},
        ),
        "mul_itself": ([node("Mul", "x", "x")], IMAGE, {}),
        "mul_number": ([node("Mul", "x", "c")], IMAGE, {"c": np.array(3, np.float32)}),
        "pad": ([node("Pad", "x", "p")], IMAGE, {"p": np.array([0, 0, 1, 2, 0, 0, 0, 3])}),
        "power": ([node("Pow", "x", "c")], IMAGE, {"c": np.array(3, np.float32)}),
        "prelu_of_one_alpha": ([node("PRelu", "x", "a")], IMAGE, {"a": drawn(1, 1)}),
        "gather_two_axes": (
            [node("Gather", "x", "i", axis=2)],
            IMAGE,
            {"i": np.array([[1, 2], [3, 4]])},
        ),
        "prelu": ([node("PRelu", "x", "a")], IMAGE, {"a": drawn(1, 3, 1, 1)}),
        "reduce_mean": ([node("ReduceMean", "x", axes=[2, 3])], IMAGE, {}),
        "reduce_mean_last": ([node("ReduceMean", "x", axes=[2])], (4, 3), {}),
        "reduce_l1": ([node("ReduceL1", "x", axes=[2, 3], keepdims=0)], IMAGE, {}),
        "reduce_sum": ([node("ReduceSum", "x", "a")], IMAGE, {"a": np.array([1, 2, 3])}),
        "reduce_squares": ([node("ReduceSumSquare", "x", axes=[-1])], IMAGE, {}),
        "reduce_mean_flat": ([node("ReduceMean", "x", axes=[-1, -2], keepdims=0)], IMAGE, {}),
        "relu": ([node("Relu", "x")], IMAGE, {}),
        "reshape": ([node("Reshape", "x", "s")], IMAGE, {"s": np.array([-1, 6, 24])}),
        "reshape_kept": ([node("Reshape", "x", "s")], IMAGE, {"s": np.array([0, 144])}),
        "resize_linear": (
            [node("Resize", "x", "", "k", mode="linear")],
            IMAGE,
            {"k": np.array([1, 1, 2, 3], np.float32)},
        ),
        "resize_nearest": (
            [node("Resize", "x", "", "k", mode="nearest", **CORNERS)],
            IMAGE,
            {"k": np.array([1, 1, 2, 1], np.float32)},
        ),
        "root": (
            [node("Exp", "x", to="e"), node("Sqrt", "e", to="r"), node("Reciprocal", "r")],
            IMAGE,
            {},
        ),
        "selu": ([node("Selu", "x")], IMAGE, {}),
        "sigmoid": ([node("Sigmoid", "x")], IMAGE, {}),
        "softmax": ([node("Softmax", "x")], (5,), {}),
        "softmax_steps": ([node("Softmax", "x", axis=-1)], (3, 5), {}),
        "softplus": ([node("Softplus", "x")], IMAGE, {}),
        "softsign": ([node("Softsign", "x")], IMAGE, {}),
        "space_to_depth": ([node("SpaceToDepth", "x", blocksize=2)], (3, 4, 6), {}),
        "squeeze": (
            [node("Unsqueeze", "x", "a", to="u"), node("Squeeze", "u", "b")],
            IMAGE,
            {"a": np.array([2, -1]), "b": np.array([-1])},
        ),
        "subtract": ([node("Sub", "x", "c")], IMAGE, {"c": drawn(1, 3, 1, 1)}),
        "subtract_both": ([node("Relu", "x", to="r"), node("Sub", "x", "r")], IMAGE, {}),
        "sum": ([node("Sum", "x", "x", "x")], IMAGE, {}),
        "tanh": ([node("Tanh", "x")], IMAGE, {}),
        "transpose": ([node("Transpose", "x", perm=[0, 2, 3, 1])], IMAGE, {}),
        "where_one_is_not_0": (
            [*ABOVE, node("Where", "m", "x", "c")],
            (5, 3),
            {"c": ZERO, "i": np.array([0])},
        ),
        "reverse_steps": ([node("Slice", "x", *BACK_TO_FIRST)], (5, 3), BACK_TO_FIRST),
        "reverse_rows": ([node("Slice", "x", *BACK_TO_FIRST)], (5,), BACK_TO_FIRST),
        "reverse_channels": ([node("Slice", "x", *BACK_TO_FIRST)], IMAGE, BACK_TO_FIRST),
        "resize_volume": (
            [node("Resize", "x", "", "k", mode="nearest", **CORNERS)],
            (2, 3, 4, 2),
            {"k": np.array([1, 1, 2, 1, 3], np.float32)},
        ),
        "where_one_is_0": (
            [*ABOVE, node("Where", "m", "c", "x")],
            (5, 3),
            {"c": ZERO, "i": np.array([0])},
        ),
    }
)
REFUSED = {
    "celu": ([node("Celu", "x", alpha=-0.5)], (5,), {}),
    "max_of_rows": ([node("Max", "x", "c")], (5,), {"c": drawn(1, 5)}),
    "min_of_rows": ([node("Min", "x", "c")], (5,), {"c": drawn(1, 5)}),
    "units": (over_steps("GRU", "B"), SEQUENCE, weights_of(4) | PLACES),
    "peepholes": (
        over_steps("LSTM", "B", "", "", "", "P"),
        SEQUENCE,
        weights_of(4) | PLACES | {"P": drawn(4, 1, 8)},
    ),
    "lstm_first_state": (
        over_steps("LSTM", "B", "", "h"),
        SEQUENCE,
        weights_of(4) | PLACES | {"h": drawn(5, 1, 1, 4)},
    ),
    "lstm_soft": (
        over_steps("LSTM", "B", activations=["Sigmoid", "Softsign", "Tanh"]),
        SEQUENCE,
        weights_of(4) | PLACES,
    ),
    "gru_of_examples": (
        [helper.make_node("GRU", ["x", "W", "R"], ["y"], hidden_size=4)],
        SEQUENCE,
        weights_of(3),
    ),
    "add_rows_of_all": (
        [OF_STEPS[0], node("Add", "r", "c", to="s"), node("Reshape", "s", "back")],
        SEQUENCE,
        {"c": drawn(1, 5, 3), "rows": np.array([-1, 3]), "back": np.array([-1, 5, 3])},
    ),
    "add_more_axes": ([node("Add", "x", "c")], (5,), {"c": drawn(1, 3, 1, 5)}),
    "cast_integers": ([*CAST, node("Abs", "i", to="p"), BACK], (5,), {}),
    "cast_back": ([helper.make_node("Cast", ["x"], ["p"], to=TensorProto.INT64), BACK], (5,), {}),
    "cast_turned": ([*CAST, node("Transpose", "i", to="p", perm=[0, 1]), BACK], (5,), {}),
    "gather_batches": ([node("Gather", "x", "i")], IMAGE, {"i": np.array(0)}),
    "gather_apart": ([node("Gather", "x", "i", axis=1)], IMAGE, {"i": np.array([0, 2])}),
    "gather_floats": ([node("Gather", "w", "x")], (5,), {"w": drawn(1, 7, 3)}),
    "gather_more_rows_than_float32_numbers": (
        [
            helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
            node("ConstantOfShape", "s", to="w"),
            node("Gather", "w", "i"),
        ],
        (5,),
        {"s": np.array([2**24 + 1, 1])},
    ),
    "matmul_of_others": (
        [node("MatMul", "w", "x")],
        (5, 3),
        {"w": drawn(1, 4, 5)},
    ),
    "reverse_columns": (
        [node("Slice", "x", *BACK_TO_FIRST)],
        IMAGE,
        BACK_TO_FIRST | {"axes": np.array([3])},
    ),
    "reverse_a_part": (
        [node("Slice", "x", *BACK_TO_FIRST)],
        (5, 3),
        BACK_TO_FIRST | {"starts": np.array([2])},
    ),
    "slice_steps": (
        [node("Slice", "x", "s", "e", "a", "d")],
        IMAGE,
        {name: np.array([n]) for name, n in {"s": 0, "e": 6, "a": 2, "d": 2}.items()},
    ),
    "slice_batches": (
        [node("Slice", "x", "s", "e")],
        IMAGE,
        {name: np.array([n]) for name, n in {"s": 0, "e": 1}.items()},
    ),
    "matrices_of_examples": (  # one for each, if there are as many
        [node("MatMul", "x", "W")],
        (4, 5),
        {"W": drawn(1, 3, 5, 2)},
    ),
    "one_matrix_of_several": ([node("MatMul", "x", "W")], (4, 5), {"W": drawn(1, 1, 5, 2)}),
    "concat_batches": ([node("Concat", "x", "x", axis=0)], IMAGE, {}),
    "gemm_alpha": ([node("Gemm", "x", "W", alpha=2.0)], (5,), {"W": drawn(1, 5, 4)}),
    "max_pool_ceil": ([node("MaxPool", "x", kernel_shape=[2, 2], ceil_mode=1)], IMAGE, {}),
    "resize_sizes": (
        [node("Resize", "x", "", "", "n", mode="nearest", **CORNERS)],
        IMAGE,
        {"n": np.array([1, 3, 12, 8])},
    ),
    "resize_half": (
        [node("Resize", "x", "", "k", mode="nearest")],
        IMAGE,
        {"k": np.array([1, 1, 2, 2], np.float32)},
    ),
    "power_of_channels": ([node("Pow", "x", "c")], IMAGE, {"c": drawn(1, 3, 1, 1)}),
    "selu_alpha": ([node("Selu", "x", alpha=2.0)], IMAGE, {}),
    "reshape_batch": ([node("Reshape", "x", "s")], IMAGE, {"s": np.array([6, -1])}),
    "same_transposed": (
        [node("ConvTranspose", "x", "W", auto_pad="SAME_UPPER")],
        IMAGE,
        {"W": drawn(1, 3, 2, 3, 2)},
    ),
    "same_with_pads": (
        [node("MaxPool", "x", kernel_shape=[2, 2], pads=[1, 1, 1, 1], auto_pad="SAME_LOWER")],
        IMAGE,
        {},
    ),
    "same_sparse": (
        [node("AveragePool", "x", kernel_shape=[1, 1], strides=[3, 2], auto_pad="SAME_UPPER")],
        IMAGE,
        {},
    ),
    "same_dilated": (
        [node("MaxPool", "x", kernel_shape=[2, 2], dilations=[1, 2], auto_pad="SAME_LOWER")],
        IMAGE,
        {},
    ),
}


SINCE = {
    "hard_swish": 14,
    "layer_norm": 17,
    "layer_norm_scale": 17,
    "norm_of_rows": 17,
}  # first opset, if later than 13


@pytest.mark.parametrize("name", first_of_each(CASES))
@pytest.mark.parametrize("opset", [slow(13), 17])
def test_outputs_are_those_of_onnxruntime(name, opset, tmp_path):
    nodes, shape, constants = CASES[name]
    if opset < SINCE.get(name, 13):
        opset = SINCE[name]
    made = model(nodes, shape, constants, opset)
    net = read_onnx(saved(made, tmp_path))
    for n in (1, 3):
        x = drawn(n, n, *shape)
        y, theirs = net.run(x)["y"], expected(made, x)
        assert y.shape == theirs.shape
        np.testing.assert_allclose(y, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("op", "sign"), [("Max", -1), ("Min", 1), ("Clip", -1)])
def test_bounds_may_be_any_number(op, sign, tmp_path):
    x = drawn(0, 2, 5)
    for number in (0.25, 1e25, -1e25, sign * np.finfo(np.float32).max, sign * np.inf):
        made = model([node(op, "x", "c")], (5,), {"c": np.array(number, np.float32)})
        y = read_onnx(saved(made, tmp_path)).run(x)["y"]
        np.testing.assert_array_equal(y, expected(made, x))


SIGNED = {
    "reciprocal": [node("Reciprocal", "x")],
    "sqrt": [node("Sqrt", "x")],
    "cube": [node("Pow", "x", "three")],
    "quotient": [node("Div", "three", "x")],
    "negative": [node("Neg", "x")],
}


@pytest.mark.parametrize("name", SIGNED)
def test_zeros_keep_their_signs(name, tmp_path):
    made = model(SIGNED[name], (3,), {"three": np.array(3.0, np.float32)})
    x = np.array([[-0.0, 0.0, 1.0]], np.float32)
    y, theirs = read_onnx(saved(made, tmp_path)).run(x)["y"], expected(made, x)
    np.testing.assert_allclose(y, theirs, rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(theirs))


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_other_numbers_is_refused(name, tmp_path):
    with pytest.raises(UnsupportedError, match=r"nodes without a layer:\n(  [^y].*\n)*  y "):
        read_onnx(saved(model(*REFUSED[name]), tmp_path))


def test_a_batch_norm_of_opset_9_that_trains_is_refused(tmp_path):
    weights = {name: drawn(i, 3) ** 2 for i, name in enumerate("gbmv")}
    trains = helper.make_node("BatchNormalization", ["x", *"gbmv"], ["y", "m2", "v2", "m3", "v3"])
    made = model([trains], IMAGE, weights, opset=9)
    with pytest.raises(UnsupportedError, match="training, with statistics as outputs, is not"):
        read_onnx(saved(made, tmp_path))


def test_one_error_lists_all_nodes_that_are_not_supported(tmp_path):
    nodes = [
        node("Det", "x", to="a"),
        node("Relu", "a", to="b"),
        node("Sin", "x", to="c"),
        node("Add", "b", "c"),
    ]
    with pytest.raises(UnsupportedError) as caught:
        read_onnx(saved(model(nodes, (4, 4)), tmp_path))
    lines = str(caught.value).splitlines()[1:]
    assert [line.split(":")[0] for line in lines] == [
        "  a (Det)",
        "  b (Relu)",
        "  c (Sin)",
        "  y (Add)",
    ]


def test_constants_may_be_nodes(tmp_path):
    value = helper.make_tensor("v", TensorProto.FLOAT, [3, 1, 1], [1.0, 2.0, 3.0])
    nodes = [node("Constant", to="c", value=value), node("Mul", "x", "c")]
    made = model(nodes, IMAGE)
    x = drawn(0, 2, *IMAGE)
    np.testing.assert_array_equal(read_onnx(saved(made, tmp_path)).run(x)["y"], expected(made, x))


@pytest.mark.parametrize(
    ("axes", "factors"), [([0, 1, 3, 2], [1, 1, 2, 3]), ([-1, 2], [2, 3]), ([3], [2])]
)
def test_factors_are_those_of_axes(axes, factors, tmp_path):
    nodes = [node("Resize", "x", "", "k", mode="nearest", axes=axes, **CORNERS)]
    made = model(nodes, IMAGE, {"k": np.array(factors, np.float32)}, opset=18)
    x = drawn(0, 2, *IMAGE)
    np.testing.assert_array_equal(read_onnx(saved(made, tmp_path)).run(x)["y"], expected(made, x))


def test_open_axes_are_given(tmp_path):
    made = model([node("Relu", "x")], ("c", 4))
    path = saved(made, tmp_path)
    with pytest.raises(ConfigError, match="give it"):
        read_onnx(path)
    assert read_onnx(path, shape=(3, 4)).network.conf.input_shapes == {"x": (3, 4)}


@pytest.mark.parametrize("opset", [9, 11, 12])
def test_older_opsets_are_brought_to_13(opset, tmp_path):
    nodes = [
        node("Unsqueeze", "x", to="u", axes=[1]),
        node("Squeeze", "u", to="q", axes=[1]),
        node("Softmax", "q", axis=1),
    ]
    made, x = model(nodes, (4,), opset=opset), drawn(0, 3, 4)
    theirs = expected(made, x)
    np.testing.assert_allclose(read_onnx(saved(made, tmp_path)).run(x)["y"], theirs, rtol=1e-6)


def test_opsets_before_7_are_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="opset must be of 7 to"):
        read_onnx(saved(model([node("Relu", "x")], (4,), opset=6), tmp_path))


def test_a_loss_makes_of_a_file_a_network_that_trains(tmp_path):
    made, x = model(LENET, IMAGE, LENET_WEIGHTS), drawn(0, 20, *IMAGE)
    network = replace_output(read_onnx(saved(made, tmp_path)).network, LossLayer())
    np.testing.assert_allclose(network.predict(x), expected(made, x), rtol=1e-5, atol=1e-6)
    classes = expected(made, x).argmax(axis=1)
    assert network.evaluate((x, classes)).accuracy == 1


def test_several_inputs_some_of_them_integers(tmp_path):
    """Ids, and floats of another shape, as in exported encoders."""
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", "steps"])
    nodes = [
        node("Gather", "w", "ids", to="e"),
        node("MatMul", "x", "v", to="m"),
        node("Mul", "e", "m"),
    ]
    made = model(nodes, (5, 1), {"w": drawn(1, 9, 3), "v": drawn(2, 1, 3)}, inferred=False)
    made.graph.input.append(ids)
    path, theirs = saved(made, tmp_path), onnxruntime.InferenceSession(made.SerializeToString())
    with pytest.raises(ConfigError, match=r"an example of ids \['n', 'steps'\]; give it"):
        read_onnx(path)
    with pytest.raises(ConfigError, match="inputs among"):
        read_onnx(path, shape={"id": (5,)})
    net = read_onnx(path, shape={"ids": (5,)})
    given = {"x": drawn(3, 4, 5, 1), "ids": np.arange(20).reshape(4, 5) % 9}
    [expected] = theirs.run(None, given)
    np.testing.assert_allclose(net.run(given)["y"], expected, rtol=1e-6)


@pytest.mark.slow
def test_a_mask_and_a_number_stay_as_they_are(tmp_path):
    nodes, shape, constants = CASES["attention"]
    net = read_onnx(saved(model(nodes, shape, constants), tmp_path))
    network = replace_output(net.network, LossLayer(loss="mse"))
    kinds = {place.name: place.layer.type_name for place in network.conf.stack}
    before = {name: view.copy() for name, view in params_of(network).items()}
    network.fit((drawn(1, 8, 5, 3), drawn(2, 8, 5, 8)), epochs=1)
    moved = {name: not np.array_equal(before[name], v) for name, v in params_of(network).items()}
    assert moved == {name: kinds[name.split("/")[0]] == "Dense" for name in before}
    assert sorted(kinds[name.split("/")[0]] for name in before) == ["Dense", "Dense", "Frozen"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "count"),
    [(node("MatMul", "t", "w"), 1), (node("Gemm", "t", "w", transB=1), 2)],
    ids=["alike", "turned"],
)
def test_a_constant_that_is_read_twice_is_one_parameter(second, count, tmp_path, caplog):
    """If operations need it in different layouts, a warning says that each has a copy."""
    nodes = [node("MatMul", "x", "w", to="a"), node("Tanh", "a", to="t"), second]
    made, x = model(nodes, (4,), {"w": drawn(1, 4, 4)}), drawn(2, 3, 4)
    net = read_onnx(saved(made, tmp_path))
    np.testing.assert_allclose(net.run(x)["y"], expected(made, x), rtol=1e-5, atol=1e-6)
    assert len(params_of(net.network)) == count
    assert caplog.text.count("which are trained separately: w") == count - 1
    network = replace_output(net.network, LossLayer(loss="mse"))
    network.fit((x, drawn(3, 3, 4)), epochs=1)
    assert not np.array_equal(network.predict(x), expected(made, x))


@pytest.mark.parametrize("second", [[1, 1, 1, 1], [1, 2, 1, 1]], ids=["merged", "shared"])
def test_norms_of_ones_and_zeros_are_not_shared(second, tmp_path, caplog):
    """Exporters merge equal constants, such as those of all norms before training."""
    nodes = [node("LayerNormalization", "x", "g", "b", to="a"), node("Tanh", "a", to="t")]
    nodes.append(node("LayerNormalization", "t", "g", "b"))
    arrays = {"g": np.float32(second), "b": np.zeros(4, np.float32)}
    made, x = model(nodes, (4,), arrays), drawn(2, 3, 4)
    net = read_onnx(saved(made, tmp_path))
    np.testing.assert_allclose(net.run(x)["y"], expected(made, x), rtol=1e-5, atol=1e-6)
    assert len(params_of(net.network)) == (4 if len(set(second)) == 1 else 2)
    assert not caplog.records


def params_of(network):
    return network.conf.params_layout.views(network.state.params)


def initializer(made):
    return made.graph.initializer[0]


def constant_node(made):
    return made.graph.node[0].attribute[0].t


@pytest.mark.parametrize("tensor_of", [initializer, constant_node])
def test_weights_in_other_files_are_not_read(tensor_of, tmp_path):
    value = helper.make_tensor("v", TensorProto.FLOAT, [5], [1.0] * 5)
    nodes = [node("Constant", to="c", value=value), node("MatMul", "x", "W")]
    made = model(nodes, (5,), {"W": drawn(1, 5, 4)})
    tensor = tensor_of(made)
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "other"
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(UnsupportedError, match="other files"):
        read_onnx(str(path))


@pytest.mark.slow
def test_damaged_files_are_named_errors(tmp_path):
    whole = model(LENET, IMAGE, LENET_WEIGHTS).SerializeToString()
    path, rng, errors = tmp_path / "net.onnx", np.random.default_rng(0), 0
    for _ in range(200):
        content = np.frombuffer(whole, np.uint8).copy()
        content[rng.integers(len(content), size=3)] = rng.integers(256, size=3)
        at = rng.integers(min(len(content), 400))
        content[at] = rng.integers(256)
        path.write_bytes(content[: rng.integers(1, len(content)) if rng.random() < 0.2 else None])
        try:
            read_onnx(str(path))
        except DataError:
            errors += 1
        except SparkdlError as error:
            assert str(path) in str(error) or isinstance(error, ConfigError)
            errors += 1
    assert errors > 40


@pytest.mark.parametrize("read", [read_onnx, OnnxFunction])
def test_a_split_into_more_or_fewer_parts_than_outputs_is_damage(read, tmp_path):
    """The shape inference of onnx ends the process for such a file."""
    parts = node("Split", "x", to="a", num_outputs=1)
    parts.output.extend(["b", "c"])
    nodes = [parts, node("Concat", "a", "b", "c", axis=1)]
    made = model(nodes, (6,), opset=18, inferred=False)
    with pytest.raises(DataError, match="num_outputs of a Split must be 3, .*, got 1"):
        read(saved(made, tmp_path))
