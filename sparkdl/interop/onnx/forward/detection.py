"""Boxes in images."""

from math import ceil

import numpy as np

from sparkdl.interop.onnx.forward.convolutions import bilinear
from sparkdl.interop.onnx.forward.shapes import need_room


def non_max_suppression(
    boxes, scores, most=None, iou_threshold=None, score_threshold=None, *, center_point_box=0
):
    """Returns rows (image, class, box) of the boxes that overlap no box of a higher score."""
    most = 0 if most is None else int(np.reshape(most, ()))
    limit = 0.0 if iou_threshold is None else float(np.reshape(iou_threshold, ()))
    least = None if score_threshold is None else float(np.reshape(score_threshold, ()))
    corners = corners_of(boxes, center_point_box)
    found = []
    for image, classes in enumerate(scores):
        for number, values in enumerate(classes):
            kept = []
            for box in np.argsort(-values, kind="stable"):
                if len(kept) == most or (least is not None and not values[box] > least):
                    break
                if all(overlap(*corners[image][[box, other]]) <= limit for other in kept):
                    kept.append(box)
            found += [(image, number, box) for box in kept]
    return np.array(found, np.int64).reshape(-1, 3)


def corners_of(boxes, centered):
    """Returns boxes as (y1, x1, y2, x2)."""
    if centered:
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        return np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], -1)
    one, other = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(one, other), np.maximum(one, other)], -1)


def overlap(a, b):
    """Returns the intersection over union of two boxes."""
    shared = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared
    return shared / union if union > 0 else 0.0


def roi_align(
    x,
    rois,
    images,
    *,
    coordinate_transformation_mode=None,
    mode="avg",
    opset=16,
    output_height=1,
    output_width=1,
    sampling_ratio=0,
    spatial_scale=1.0,
):
    """Returns (rois, C, height, width): the mean or maximum of the sampling points in each cell.

    Before opset 16, regions are not shifted by half a pixel.
    """
    moves = "half_pixel" if opset >= 16 else "output_half_pixel"
    half = (coordinate_transformation_mode or moves) == "half_pixel"
    found, counts = [], (output_height, output_width)
    for roi, image in zip(rois, images, strict=True):
        left, top, right, bottom = roi * spatial_scale - (0.5 if half else 0)
        sizes = [bottom - top, right - left]
        sizes = sizes if half else [max(size, 1.0) for size in sizes]
        axes = [
            points(begin, size, n, sampling_ratio)
            for begin, size, n in zip((top, left), sizes, counts, strict=True)
        ]
        found.append(cells(x[image], *axes, counts, mode))
    return np.stack(found).astype(x.dtype) if found else np.zeros((0, x.shape[1], *counts), x.dtype)


def points(begin, size, n, ratio):
    """Returns the sampling points (n, points) in n cells along one axis; none in empty regions."""
    each = ratio or max(ceil(size / n), 0)
    need_room([n, each or 1])
    return begin + (np.arange(n)[:, None] + (np.arange(each) + 0.5) / each) * size / n


def cells(x, rows, columns, counts, mode):
    """Returns the pooled cells (C, *counts) of an image (C, H, W); zeros without points."""
    need_room([len(x), rows.size, columns.size])
    if not rows.size or not columns.size:
        return np.zeros((len(x), *counts))
    grid = np.meshgrid(edged(rows.ravel(), x.shape[1]), edged(columns.ravel(), x.shape[2]),
                       indexing="ij")  # fmt: skip
    outside = np.isnan(grid[0]) | np.isnan(grid[1])
    r, c = (np.where(outside, 0, each)[None, None] for each in grid)
    if mode == "avg":
        values = bilinear(x[None, None], r, c)[0, 0] * ~outside
    else:
        values = corner_maxima(x, r[0, 0], c[0, 0]) * ~outside
    split = values.reshape(len(x), counts[0], rows.shape[1], counts[1], columns.shape[1])
    return split.mean(axis=(2, 4)) if mode == "avg" else split.max(axis=(2, 4))


def corner_maxima(x, rows, columns):
    """Returns the largest of the four weighted pixels around each place."""
    best = None
    for down in (0, 1):
        for right in (0, 1):
            r, c = np.floor(rows).astype(int) + down, np.floor(columns).astype(int) + right
            weight = (1 - np.abs(rows - r)) * (1 - np.abs(columns - c))
            pixels = x[:, r.clip(0, x.shape[1] - 1), c.clip(0, x.shape[2] - 1)] * weight
            best = pixels if best is None else np.maximum(best, pixels)
    return best


def edged(places, n):
    """Returns places clipped to the image, and nan for those more than a pixel outside."""
    return np.where((places < -1) | (places > n), np.nan, places.clip(0, n - 1))


DETECTION = {"NonMaxSuppression": non_max_suppression, "RoiAlign": roi_align}
