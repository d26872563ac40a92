"""Arithmetic on sequences (N, F, T) that are images of one row or column, done on the images."""

import numpy as np

from sparkdl.engine.graph import Tensor
from sparkdl.engine.ops.shape import ReshapeOp
from sparkdl.interop.onnx.compiled.arrangements import is_image_of, is_made_by, reshape


def on_images(rule):
    """Returns a rule for arithmetic that keeps images as such: a sequence would be a copy."""

    def compute(*inputs, **options):
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        sources = [x.node.inputs[0] for x in tensors if is_made_by(x, ReshapeOp)]
        shapes = {(x.shape, source.shape) for x, source in zip(tensors, sources, strict=False)}
        if len(sources) < len(tensors) or len(shapes) > 1 or not is_image_of(*next(iter(shapes))):
            return rule(*inputs, **options)
        [(shape, image)] = shapes
        images = iter(sources)
        given = [next(images) if isinstance(x, Tensor) else as_image(x, image) for x in inputs]
        if any(isinstance(x, np.ndarray) and x.ndim > len(image) for x in given):
            return rule(*inputs, **options)
        y = rule(*given, **options)
        return reshape(y, shape) if y.shape == image else rule(*inputs, **options)

    return compute


def as_image(x, image):
    """Reshapes an array that goes with sequences, to go with the images."""
    if x is None or x.ndim < 2:
        return x if x is None or x.size == 1 or image[2] == 1 else x.reshape(-1, 1)
    return np.expand_dims(x, x.ndim - 1 if image[2] == 1 else x.ndim)
