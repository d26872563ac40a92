"""Elementwise layers."""

import numpy as np

from tests.interop.caffe.layer_cases.case import case

IMAGE = (2, 3, 4)


def of(function, **options):
    return {"expected": lambda p, x: function(x)} | options


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def prelu(p, x):
    alpha = p["y/alpha"].reshape(-1, *[1] * (x.ndim - 2))
    return np.where(x > 0, x, alpha * x)


CASES = [
    case("type: 'AbsVal'", IMAGE, **of(np.abs)),
    case("type: 'BNLL'", IMAGE, **of(lambda x: np.log1p(np.exp(x)))),
    case("type: 'Clip' clip_param { min: -0.5 max: 1 }", IMAGE, **of(lambda x: x.clip(-0.5, 1))),
    case("type: 'Dropout' dropout_param { dropout_ratio: 0.3 }", IMAGE, **of(lambda x: x)),
    case("type: 'ELU'", IMAGE, **of(lambda x: np.where(x > 0, x, np.exp(x) - 1))),
    case(
        "type: 'ELU' elu_param { alpha: 0.5 }",
        IMAGE,
        **of(lambda x: np.where(x > 0, x, 0.5 * (np.exp(x) - 1))),
    ),
    case("type: 'ELU' elu_param { alpha: 0 }", IMAGE, **of(lambda x: np.maximum(x, 0))),
    case("type: 'Exp'", IMAGE, **of(np.exp)),
    case(
        "type: 'Exp' exp_param { base: 2 scale: 0.5 shift: 1 }",
        IMAGE,
        **of(lambda x: 2 ** (1 + 0.5 * x)),
    ),
    case("type: 'Log'", IMAGE, **of(np.log, positive=True)),
    case(
        "type: 'Log' log_param { base: 10 scale: 2 shift: 1 }",
        IMAGE,
        **of(lambda x: np.log10(1 + 2 * x), positive=True),
    ),
    case("type: 'Power'", IMAGE, **of(lambda x: x)),
    case(
        "type: 'Power' power_param { power: 3 scale: 2 shift: 1 }",
        IMAGE,
        **of(lambda x: (1 + 2 * x) ** 3),
    ),
    case("type: 'ReLU'", IMAGE, **of(lambda x: np.maximum(x, 0))),
    case(
        "type: 'ReLU' relu_param { negative_slope: 0.1 }",
        IMAGE,
        **of(lambda x: np.where(x > 0, x, 0.1 * x)),
    ),
    case("type: 'Sigmoid'", IMAGE, **of(sigmoid)),
    case(
        "type: 'Swish' swish_param { beta: 1.5 }",
        IMAGE,
        **of(lambda x: x * sigmoid(1.5 * x)),
    ),
    case("type: 'TanH'", IMAGE, **of(np.tanh)),
    case("type: 'Threshold' threshold_param { threshold: 0.25 }", IMAGE, **of(lambda x: x > 0.25)),
    case("type: 'PReLU'", IMAGE, expected=prelu),
    case("type: 'PReLU'", (3, 4), expected=prelu),
    case("type: 'PReLU'", (3,), expected=prelu),
    case("type: 'PReLU' prelu_param { channel_shared: true }", IMAGE, expected=prelu),
]
