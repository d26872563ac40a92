"""Resize, Upsample, GridSample and AffineGrid."""

from math import ceil, floor

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.forward.shapes import need_room, whole_numbers
from sparkdl.interop.onnx.messages import OF_UPSAMPLE

HALF = 1e-6  # distance up to which onnxruntime, too, takes a coordinate for a half


def resize(
    x,
    roi=None,
    scales=None,
    sizes=None,
    *,
    antialias=0,
    axes=None,
    coordinate_transformation_mode="half_pixel",
    cubic_coeff_a=-0.75,
    exclude_outside=0,
    extrapolation_value=0.0,
    keep_aspect_ratio_policy="stretch",
    mode="nearest",
    nearest_mode="round_prefer_floor",
):
    """Returns x resized axis by axis, each a product with weights (to, from)."""
    axes = list(normalize_axis_tuple(range(x.ndim) if axes is None else axes, x.ndim))
    lengths = [x.shape[axis] for axis in axes]
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    parts = np.split(roi, 2) if crops else (np.zeros(len(axes)), np.ones(len(axes)))
    if scales is not None and scales.size:
        scales = [float(scale) for scale in scales]
        ends = zip(lengths, *parts, scales, strict=True)
        to = [floor(n * (end - start) * scale) for n, start, end, scale in ends]
    else:
        scales, to = fitted(lengths, whole_numbers(sizes), keep_aspect_ratio_policy)
    need_room([to[axes.index(axis)] if axis in axes else n for axis, n in enumerate(x.shape)])
    y, outside = x.astype(np.float64), np.zeros((), bool)
    for axis, n, start, end, scale, wanted in zip(axes, lengths, *parts, scales, to, strict=True):
        if n == wanted and scale == 1 and not crops:
            continue
        narrow = mode == "nearest" or crops  # where rounding decides what is half, or outside
        number = np.float32 if narrow else np.float64
        places = places_of(np.arange(wanted, dtype=number), n, wanted, number(scale), (start, end),
                           coordinate_transformation_mode)  # fmt: skip
        if mode == "nearest":
            weights = np.eye(n)[rounded(places, nearest_mode).clip(0, n - 1)]
        else:
            stretch = min(scale, 1.0) if antialias else 1.0
            weights = kernel_weights(places, n, mode, stretch, cubic_coeff_a, exclude_outside)
        y = np.moveaxis(np.tensordot(weights, y, ([1], [axis])), 0, axis)
        if crops:
            beyond = (places < 0) | (places > n - 1)
            outside = outside | beyond.reshape(-1, *[1] * (x.ndim - 1 - axis))
    y = np.where(outside, extrapolation_value, y) if crops else y
    return (np.rint(y) if x.dtype.kind in "iu" else y).astype(x.dtype)


def fitted(lengths, sizes, policy):
    """Returns (scales, lengths) for the requested sizes."""
    ratios = [size / n for size, n in zip(sizes, lengths, strict=True)]
    if policy == "stretch":
        return ratios, sizes
    one = min(ratios) if policy == "not_larger" else max(ratios)
    return [one] * len(sizes), [floor(one * n + 0.5) for n in lengths]


def places_of(places, n, wanted, scale, ends, mode):
    """Returns the coordinates in x of the numbers of y along one axis."""
    start, end = ends
    if mode == "tf_crop_and_resize":
        if wanted > 1:
            return start * (n - 1) + places * (end - start) * (n - 1) / (wanted - 1)
        return np.full(1, 0.5 * (start + end) * (n - 1))
    if mode == "align_corners":
        return places * (n - 1) / (n * scale - 1) if wanted > 1 else 0.0 * places
    if mode == "asymmetric":
        return places / scale
    if mode == "pytorch_half_pixel" and wanted == 1:
        return 0.0 * places
    middle = (places + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return middle + n / 2 * (1 - wanted / (n * scale))
    if mode not in ("half_pixel", "pytorch_half_pixel"):
        raise UnsupportedError(f"coordinate_transformation_mode={mode} is not supported")
    return middle


def rounded(places, mode):
    """Returns whole coordinates; what differs from a half by rounding alone is taken for one."""
    if mode in ("ceil", "floor"):
        return getattr(np, mode)(places).astype(int)
    below = np.floor(places)
    is_half = np.abs(places - (below + 0.5)) < HALF
    preferred = below + (mode == "round_prefer_ceil")
    return np.where(is_half, preferred, np.floor(places + 0.5)).astype(int)


def kernel_weights(places, n, mode, stretch, a, exclude_outside):
    """Returns weights (places, n); positions outside count for the first or last number."""
    reach = {"linear": 1, "cubic": 2}[mode] / stretch
    shape = linear if mode == "linear" else (lambda d: cubic(d, a))
    near = np.floor(places).astype(int)[:, None] + np.arange(-ceil(reach), ceil(reach) + 1)
    weights = shape((near - places[:, None]) * stretch)
    inside = (near >= 0) & (near < n)
    weights = weights * inside if exclude_outside else weights
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.einsum("pk,pkn->pn", weights, np.eye(n)[near.clip(0, n - 1)])


def linear(distance):
    return np.maximum(1 - np.abs(distance), 0)


def cubic(distance, a):
    """Returns the weights of Keys' cubic kernel (1981)."""
    d = np.abs(distance)
    inner = (a + 2) * d**3 - (a + 3) * d**2 + 1
    outer = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, inner, np.where(d < 2, outer, 0))


def upsample(x, scales, *, mode="nearest"):
    return resize(x, None, scales, mode=mode, **OF_UPSAMPLE)


def grid_sample(x, grid, *, align_corners=0, mode="linear", padding_mode="zeros"):
    """Returns x (N, C, *in) sampled at a grid (N, *out, axes) in [-1, 1], last axis first."""
    axes, sizes = x.ndim - 2, x.shape[2:]
    places = []
    for axis, n in enumerate(sizes):
        given = grid[..., axes - 1 - axis]
        place = (given + 1) * (n - 1) / 2 if align_corners else ((given + 1) * n - 1) / 2
        edges = (0, n - 1) if align_corners else (-0.5, n - 0.5)
        places.append(bounded(place, n, edges, padding_mode, mode))
    weight = {"linear": linear, "bilinear": linear, "cubic": lambda d: cubic(d, -0.75)}
    weight["bicubic"] = weight["cubic"]
    shape, y = grid.shape[1:-1], 0
    if mode == "nearest":
        return at(x, [np.rint(place).astype(int) for place in places], padding_mode, shape)
    reach = (-1, 0, 1, 2) if mode in ("cubic", "bicubic") else (0, 1)
    for steps in np.array(np.meshgrid(*[reach] * axes)).reshape(axes, -1).T:
        near = [np.floor(p).astype(int) + step for p, step in zip(places, steps, strict=True)]
        weights = [weight[mode](i - p) for i, p in zip(near, places, strict=True)]
        y = y + np.prod(weights, axis=0)[:, None] * at(x, near, padding_mode, shape, align_corners)
    return y.astype(x.dtype)


def affine_grid(theta, size, *, align_corners=0):
    """Returns the grid (N, *out, axes) of affine maps (N, axes, axes + 1), last axis first.

    References
    ----------
    Jaderberg et al., Spatial transformer networks (2015), eq. 1.
    """
    n, _, *lengths = whole_numbers(size)
    axes = len(lengths)
    if theta.shape != (n, axes, axes + 1) or min(lengths) < 1:
        raise ValueError(f"size must be (examples, channels, lengths >= 1), got {size.tolist()}")
    if align_corners and 1 in lengths:  # torch takes the middle, onnxruntime the end
        raise UnsupportedError("align_corners=1 with an axis of length 1 is not supported")
    need_room([n, *lengths, axes])
    lines = [
        np.linspace(-1, 1, k) if align_corners else (2 * np.arange(k) + 1) / k - 1 for k in lengths
    ]
    places = np.meshgrid(*lines, indexing="ij")[::-1]
    grid = np.stack([*places, np.ones(lengths)], axis=-1)
    return np.einsum("...p,nap->n...a", grid, theta).astype(theta.dtype)


def bounded(place, n, edges, padding_mode, mode):
    """Returns coordinates, moved inside if the padding mode requires that before sampling."""
    cubes = mode in ("cubic", "bicubic")
    if padding_mode == "border" and not cubes:
        return np.clip(place, 0, n - 1)
    if padding_mode == "reflection" and not cubes:
        return np.clip(reflected(place, edges), 0, n - 1)
    return place


def reflected(place, edges):
    low, high = edges
    span = high - low
    if span == 0:
        return np.zeros_like(place)
    turned = np.abs(place - low) % (2 * span)
    return low + np.where(turned > span, 2 * span - turned, turned)


def at(x, places, padding_mode, shape, align_corners=0):
    """Returns x (N, C, *in) at integer coordinates, each (N, *out)."""
    inside = np.ones((len(x), *shape), bool)
    inner = []
    for place, n in zip(places, x.shape[2:], strict=True):
        if padding_mode == "reflection":
            edges = (0, n - 1) if align_corners else (-0.5, n - 0.5)
            place = np.rint(reflected(place, edges)).astype(int)
        elif padding_mode == "zeros":
            inside &= (place >= 0) & (place < n)
        inner.append(place.clip(0, n - 1))
    examples = np.arange(len(x)).reshape(-1, *[1] * len(shape))
    found = x[(examples, slice(None), *inner)]  # (N, *out, C)
    return np.moveaxis(np.where(inside[..., None], found, 0), -1, 1)


RESAMPLING = {
    "AffineGrid": affine_grid,
    "GridSample": grid_sample,
    "Resize": resize,
    "Upsample": upsample,
}
