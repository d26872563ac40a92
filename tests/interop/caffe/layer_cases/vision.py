"""Layers with windows on images, computed by loops over the windows."""

from math import ceil

import numpy as np
from scipy.signal import correlate2d

from tests.interop.caffe.layer_cases.case import case


def filters(x, w, b, pad=(0, 0), stride=(1, 1), groups=1):
    """Convolves (N, C, H, W) with filters (O, C / groups, rows, columns), by scipy."""
    x = np.pad(x, ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    parts, y = np.split(x, groups, 1), []
    for part, own in zip(parts, np.split(w, groups)):
        each = [[sum(map(correlated, image, one)) for one in own] for image in part]
        y.append(np.array(each)[:, :, :: stride[0], :: stride[1]])
    return np.concatenate(y, 1) + b[:, None, None]


def correlated(image, one):
    return correlate2d(image, one, mode="valid")


def dilated(w):
    """Returns filters with a zero between adjacent elements."""
    wide = np.zeros((*w.shape[:2], 2 * w.shape[2] - 1, 2 * w.shape[3] - 1))
    wide[:, :, ::2, ::2] = w
    return wide


def deconvolution(p, x):
    """Adds up the filters scaled by each element of x: kernel 3, stride 2, padding 1."""
    w, b = p["y/W"], p["y/b"]
    n, _, rows, columns = x.shape
    y = np.zeros((n, w.shape[1], 2 * rows + 1, 2 * columns + 1))
    for i in range(rows):
        for j in range(columns):
            y[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3] += np.tensordot(x[:, :, i, j], w, 1)
    return y[:, :, 1:-1, 1:-1] + b[:, None, None]


def volume(p, x):
    """Convolves volumes with filters of 2 x 2 x 2."""
    w, out = p["y/W"], []
    spans = [(i, j, k) for i in range(2) for j in range(2) for k in range(2)]
    d, h, c = (n - 1 for n in x.shape[2:])
    for one in w:
        terms = [
            x[:, :, i : i + d, j : j + h, k : k + c] * one[:, i, j, k, None, None, None]
            for i, j, k in spans
        ]
        out.append(sum(terms).sum(1))
    return np.stack(out, 1)


def pooled(x, kernel, stride, pad, function, rounding=ceil):
    """Returns `function(window, size)` of each of Caffe's windows; size includes the padding."""
    height, width = x.shape[2:]
    rows, columns = (int(rounding((n + 2 * pad - kernel) / stride)) + 1 for n in (height, width))
    if pad:
        rows -= (rows - 1) * stride >= height + pad
        columns -= (columns - 1) * stride >= width + pad
    y = np.empty((*x.shape[:2], rows, columns))
    for i in range(rows):
        for j in range(columns):
            top, left = i * stride - pad, j * stride - pad
            bottom, right = min(top + kernel, height + pad), min(left + kernel, width + pad)
            size = (bottom - top) * (right - left)
            seen = x[:, :, max(top, 0) : min(bottom, height), max(left, 0) : min(right, width)]
            y[:, :, i, j] = function(seen, size)
    return y


def largest(seen, size):
    return seen.max((2, 3))


def mask(x, kernel, stride, pad):
    """Returns the position of each window's first maximum in its plane."""
    height, width = x.shape[2:]
    places = np.arange(height * width).reshape(height, width) + np.zeros(x.shape)
    numbers = np.arange(x.size, dtype=float).reshape(x.shape)  # indices into x

    def first(seen, size):
        flat = seen.reshape(*seen.shape[:2], -1).astype(int)
        best = x.reshape(-1)[flat].argmax(2)[..., None]
        return places.reshape(-1)[np.take_along_axis(flat, best, 2)[..., 0]]

    return pooled(numbers, kernel, stride, pad, first)


def mean(seen, size):
    return seen.sum((2, 3)) / size


def by_chance(seen, size):
    return (seen**2).sum((2, 3)) / seen.sum((2, 3))


def across(x, size, alpha, beta, k):
    y, channels = np.empty_like(x), x.shape[1]
    for c in range(channels):
        near = x[:, max(0, c - size // 2) : min(channels, c + size // 2 + 1)]
        y[:, c] = x[:, c] / (k + alpha / size * (near**2).sum(1)) ** beta
    return y


def within(x, size, alpha, beta):
    half = size // 2
    wide = np.pad(x**2, ((0, 0), (0, 0), (half, half), (half, half)))
    total = sum(
        wide[:, :, i : i + x.shape[2], j : j + x.shape[3]] for i in range(size) for j in range(size)
    )
    return x / (1 + alpha * total / size**2) ** beta


def pyramid(p, x):
    """Returns the maximum of 4 x 4 images, then those of their quarters."""
    n, channels = x.shape[:2]
    quarters = x.reshape(n, channels, 2, 2, 2, 2).max((3, 5))
    return np.concatenate([x.max((2, 3)), quarters.reshape(n, -1)], 1)


def columns(p, x):
    """Returns the windows of 2 x 2, with one channel per element."""
    parts = [x[:, :, i : i + 2, j : j + 3] for i in range(2) for j in range(2)]
    return np.stack(parts, 2).reshape(len(x), -1, 2, 3)


def pool(options, shape, *arguments, **more):
    text = f"type: 'Pooling' pooling_param {{ {options} }}"
    return case(text, shape, expected=lambda p, x: pooled(x, *arguments), **more)


CONV = "type: 'Convolution' convolution_param { num_output: 4 %s }"
CASES = [
    case(
        CONV % "kernel_size: 2",
        (3, 4, 5),
        expected=lambda p, x: filters(x, p["y/W"], p["y/b"]),
    ),
    case(
        CONV % "kernel_h: 3 kernel_w: 2 pad_h: 1 pad_w: 0 stride_h: 2 stride_w: 1 group: 2",
        (2, 5, 4),
        expected=lambda p, x: filters(x, p["y/W"], p["y/b"], (1, 0), (2, 1), 2),
    ),
    case(
        CONV % "kernel_size: 2 pad: 1 dilation: 2 bias_term: false",
        (2, 4, 5),
        expected=lambda p, x: filters(x, dilated(p["y/W"]), np.zeros(4), (1, 1)),
    ),
    case(CONV % "kernel_size: 2 bias_term: false", (2, 3, 4, 3), expected=volume),
    case(
        CONV % "kernel_size: 3 pad: 1",
        (2, 5),
        expected=lambda p, x: filters(x[..., None], p["y/W"], p["y/b"], (1, 0))[..., 0],
    ),
    case(
        CONV % "kernel_size: 2",
        (2, 5),
        (2, 5),
        expected=lambda p, *xs: tuple(
            filters(x[..., None], p["y/W"], p["y/b"])[..., 0] for x in xs
        ),
        tops=2,
    ),
    case(
        CONV % "kernel_size: 2",
        (2, 3, 3),
        (2, 3, 3),
        expected=lambda p, *xs: tuple(filters(x, p["y/W"], p["y/b"]) for x in xs),
        tops=2,
    ),
    case(
        "type: 'Deconvolution' convolution_param { num_output: 3 kernel_size: 3 stride: 2 pad: 1 }",
        (2, 3, 4),
        expected=deconvolution,
    ),
    pool("kernel_size: 2 stride: 2", (2, 5, 4), 2, 2, 0, largest),
    pool("kernel_size: 3 stride: 2 pad: 1", (2, 6, 5), 3, 2, 1, largest),
    pool("kernel_size: 3", (2, 4, 4), 3, 1, 0, largest),
    pool("kernel_size: 1 stride: 2", (2, 5, 3), 1, 2, 0, largest),
    pool("kernel_size: 2 stride: 3 pad: 1", (2, 5, 4), 2, 3, 1, largest),
    pool("kernel_size: 1 stride: 2 round_mode: FLOOR", (2, 4, 6), 1, 2, 0, largest, np.floor),
    *(
        case(
            f"type: 'Pooling' pooling_param {{ kernel_size: {size} stride: {stride} pad: {pad} }}",
            shape,
            expected=lambda p, x, size=size, stride=stride, pad=pad: (
                pooled(x, size, stride, pad, largest),
                mask(x, size, stride, pad),
            ),
            tops=2,
        )
        for shape, size, stride, pad in (((2, 5, 4), 2, 2, 0), ((2, 6, 5), 3, 2, 1))
    ),
    pool("pool: AVE kernel_size: 3 stride: 2", (2, 6, 5), 3, 2, 0, mean),
    pool("pool: AVE kernel_size: 3 stride: 2 pad: 1", (2, 6, 5), 3, 2, 1, mean),
    pool("pool: AVE kernel_size: 3 stride: 2 pad: 2", (2, 6, 4), 3, 2, 2, mean),
    pool(
        "pool: AVE kernel_size: 2 stride: 2 round_mode: FLOOR",
        (2, 5, 5),
        2,
        2,
        0,
        mean,
        np.floor,
    ),
    pool("pool: AVE global_pooling: true", (2, 4, 4), 4, 1, 0, mean),
    pool("global_pooling: true", (2, 3, 3), 3, 1, 0, largest),
    pool(
        "pool: STOCHASTIC kernel_size: 3 stride: 2",
        (2, 6, 5),
        3,
        2,
        0,
        by_chance,
        positive=True,
    ),
    case(
        "type: 'LRN' lrn_param { local_size: 3 alpha: 0.7 beta: 0.6 k: 2 }",
        (4, 2, 3),
        expected=lambda p, x: across(x, 3, 0.7, 0.6, 2),
    ),
    case(
        "type: 'LRN' lrn_param { local_size: 3 alpha: 0.7 norm_region: WITHIN_CHANNEL k: 5 }",
        (2, 4, 3),
        expected=lambda p, x: within(x, 3, 0.7, 0.75),
    ),
    case("type: 'SPP' spp_param { pyramid_height: 2 }", (3, 4, 4), expected=pyramid),
    case("type: 'Im2col' convolution_param { kernel_size: 2 }", (2, 3, 4), expected=columns),
]
