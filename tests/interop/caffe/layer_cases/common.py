"""Cases of other layers with parameters, normalizations, and sums of blobs."""

import numpy as np
from scipy.special import softmax

from tests.interop.caffe.layer_cases.case import case

IMAGE = (2, 3, 4)
MOMENTS = ("mean", "variance")


def dense(p, x):
    return x.reshape(len(x), -1) @ p["y/W"] + p["y/b"]


def batch_norm(p, x):
    wide = (-1, *[1] * (x.ndim - 2))
    mean, variance = (p[f"y/{name}"].reshape(wide) / p["y/weight"] for name in MOMENTS)
    return (x - mean) / np.sqrt(variance + 1e-5)


def scale(p, x):
    return x * p["y/gamma"][:, None, None] + p["y/beta"][:, None, None]


def mvn(axes, epsilon, divided=True):
    def normal(p, x):
        centered = x - x.mean(axes, keepdims=True)
        return centered / (x.std(axes, keepdims=True) + epsilon) if divided else centered

    return normal


def reduced(function, axes):
    return lambda p, x: function(x).sum(axes).reshape(len(x), -1)


def ranked(x, axis):
    """Returns indices from the largest to the smallest; of equal numbers the last comes first."""
    return np.flip(np.argsort(x, axis, kind="stable"), axis)


INNER = "type: 'InnerProduct' inner_product_param { num_output: 3 %s }"
CASES = [
    case(INNER % "", (4,), expected=dense),
    case(INNER % "", IMAGE, expected=dense),
    case(INNER % "", (3, 4), expected=dense),
    case(INNER % "transpose: true", IMAGE, expected=dense),
    case(INNER % "axis: 2", (5, 4), expected=lambda p, x: x @ p["y/W"] + p["y/b"]),
    case(
        INNER % "axis: -1 bias_term: false",
        IMAGE,
        expected=lambda p, x: x @ p["y/W"],
    ),
    case(
        INNER % "axis: 2 bias_term: false",
        IMAGE,
        expected=lambda p, x: x.reshape(len(x), 2, 12) @ p["y/W"],
    ),
    case(
        "type: 'Embed' embed_param { input_dim: 5 num_output: 3 }",
        (4,),
        expected=lambda p, x: p["y/W"][x.astype(int)] + p["y/b"],
        whole={0: 5},
    ),
    case(
        "type: 'Embed' embed_param { input_dim: 5 num_output: 3 bias_term: false }",
        (1,),
        expected=lambda p, x: p["y/W"][x.astype(int)],
        whole={0: 5},
    ),
    case(
        "type: 'Embed' embed_param { input_dim: 5 num_output: 3 }",
        (2, 4),
        expected=lambda p, x: p["y/W"][x.astype(int)] + p["y/b"],
        whole={0: 5},
    ),
    case("type: 'BatchNorm'", IMAGE, expected=batch_norm),
    case("type: 'BatchNorm'", (3, 4), expected=batch_norm),
    case(
        "type: 'BatchNorm' batch_norm_param { use_global_stats: true }", (4,), expected=batch_norm
    ),
    case("type: 'Scale' scale_param { bias_term: true }", IMAGE, expected=scale),
    case(
        "type: 'Scale' scale_param { axis: 2 num_axes: -1 }",
        IMAGE,
        expected=lambda p, x: x * p["y/gamma"],
    ),
    case(
        "type: 'Scale' scale_param { axis: 1 num_axes: 0 }",
        IMAGE,
        expected=lambda p, x: x * p["y/gamma"],
    ),
    case(
        "type: 'Scale' scale_param { axis: 0 }",
        IMAGE,
        (2,),
        expected=lambda p, x, w: x * w[:, :, None, None],
    ),
    case(
        "type: 'Bias'",
        IMAGE,
        expected=lambda p, x: x + p["y/beta"][:, None, None],
    ),
    case(
        "type: 'Bias' bias_param { axis: 0 }",
        IMAGE,
        (2, 3),
        expected=lambda p, x, w: x + w[..., None],
    ),
    case("type: 'MVN'", IMAGE, expected=mvn((2, 3), 1e-9)),
    case(
        "type: 'MVN' mvn_param { across_channels: true eps: 0.01 }",
        IMAGE,
        expected=mvn((1, 2, 3), 0.01),
    ),
    case(
        "type: 'MVN' mvn_param { normalize_variance: false }",
        (2, 5),
        expected=mvn((2,), 0, False),
    ),
    case("type: 'Softmax'", (4,), expected=lambda p, x: softmax(x, 1)),
    case("type: 'Softmax'", IMAGE, expected=lambda p, x: softmax(x, 1)),
    case("type: 'Softmax'", (3, 4), expected=lambda p, x: softmax(x, 1)),
    case("type: 'Softmax' softmax_param { axis: 2 }", (3, 4), expected=lambda p, x: softmax(x, 2)),
    case("type: 'Softmax' softmax_param { axis: -1 }", IMAGE, expected=lambda p, x: softmax(x, 3)),
    case("type: 'Eltwise'", IMAGE, IMAGE, expected=lambda p, a, b: a + b),
    case(
        "type: 'Eltwise' eltwise_param { operation: PROD }",
        (4,),
        (4,),
        (4,),
        expected=lambda p, a, b, c: a * b * c,
    ),
    case(
        "type: 'Eltwise' eltwise_param { coeff: 1 coeff: -0.5 }",
        (4,),
        (4,),
        expected=lambda p, a, b: a - 0.5 * b,
    ),
    case(
        "type: 'Eltwise' eltwise_param { operation: MAX }",
        (4,),
        (4,),
        expected=lambda p, a, b: np.maximum(a, b),
    ),
    case("type: 'Reduction'", IMAGE, expected=reduced(np.array, (1, 2, 3))),
    case(
        "type: 'Reduction' reduction_param { axis: 1 operation: ASUM }",
        IMAGE,
        expected=reduced(np.abs, (1, 2, 3)),
    ),
    case(
        "type: 'Reduction' reduction_param { axis: -1 operation: SUMSQ coeff: 0.5 }",
        (3, 4),
        expected=reduced(lambda x: x**2 / 2, (2,)),
    ),
    case(
        "type: 'Reduction' reduction_param { axis: 2 operation: MEAN }",
        (3, 4),
        expected=lambda p, x: x.mean(2),
    ),
    case(
        "type: 'ArgMax'",
        IMAGE,
        expected=lambda p, x: x.reshape(len(x), -1).argmax(1).reshape(-1, 1, 1, 1),
    ),
    case(
        "type: 'ArgMax' argmax_param { top_k: 3 out_max_val: true }",
        (6,),
        expected=lambda p, x: np.stack([ranked(x, 1)[:, :3], -np.sort(-x, 1)[:, :3]], 1),
    ),
    case(
        "type: 'ArgMax' argmax_param { axis: 2 top_k: 2 }",
        IMAGE,
        expected=lambda p, x: ranked(x, 2)[:, :, :2],
    ),
    case(
        "type: 'ArgMax' argmax_param { axis: -1 top_k: 2 out_max_val: true }",
        IMAGE,
        expected=lambda p, x: -np.sort(-x, 3)[..., :2],
    ),
    case(
        "type: 'BatchReindex'",
        IMAGE,
        (1,),
        expected=lambda p, x, i: x[i[:, 0].astype(int)],
        whole={1: 3},
    ),
]
