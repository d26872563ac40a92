"""Layers that rearrange elements without computing anything."""

import numpy as np

from tests.interop.caffe.layer_cases.case import case

IMAGE = (2, 3, 4)


def there(x, selector):
    return x * (selector != 0).reshape(-1, *[1] * (x.ndim - 1))


CASES = [
    case("type: 'Concat'", IMAGE, (5, 3, 4), expected=lambda p, a, b: np.concatenate([a, b], 1)),
    case(
        "type: 'Concat' concat_param { axis: 2 }",
        IMAGE,
        (2, 1, 4),
        expected=lambda p, a, b: np.concatenate([a, b], 2),
    ),
    case("type: 'Slice'", (4, 3), expected=lambda p, x: (x[:, :2], x[:, 2:]), tops=2),
    case(
        "type: 'Slice' slice_param { axis: 2 slice_point: 1 slice_point: 2 }",
        (2, 5),
        expected=lambda p, x: (x[..., :1], x[..., 1:2], x[..., 2:]),
        tops=3,
    ),
    case("type: 'Split'", IMAGE, expected=lambda p, x: (x, x), tops=2),
    case("type: 'Flatten'", IMAGE, expected=lambda p, x: x.reshape(len(x), -1)),
    case(
        "type: 'Flatten' flatten_param { axis: 2 }",
        IMAGE,
        expected=lambda p, x: x.reshape(len(x), 2, 12),
    ),
    case(
        "type: 'Flatten' flatten_param { end_axis: 2 }",
        IMAGE,
        expected=lambda p, x: x.reshape(len(x), 6, 4),
    ),
    case(
        "type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 dim: 2 } }",
        IMAGE,
        expected=lambda p, x: x.reshape(len(x), 12, 2),
    ),
    case(
        "type: 'Reshape' reshape_param { shape { dim: 3 dim: 2 } axis: 1 num_axes: 2 }",
        IMAGE,
        expected=lambda p, x: x.reshape(len(x), 3, 2, 4),
    ),
    case(
        "type: 'Crop' crop_param { axis: 2 offset: 1 offset: 2 }",
        (2, 4, 5),
        (3, 2, 3),
        expected=lambda p, x, like: x[:, :, 1:3, 2:5],
    ),
    case(
        "type: 'Crop' crop_param { axis: -1 }",
        (2, 4, 5),
        (3, 2, 3),
        expected=lambda p, x, like: x[..., :3],
    ),
    case(
        "type: 'Tile' tile_param { axis: 2 tiles: 3 }",
        (2, 4),
        expected=lambda p, x: np.tile(x, (1, 1, 3)),
    ),
    case(
        "type: 'Filter'",
        (4,),
        (1,),
        expected=lambda p, x, selector: there(x, selector),
        whole={1: 2},
    ),
]
