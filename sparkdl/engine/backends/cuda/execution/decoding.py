"""Image feeds: images are copied in stored form with a description; a kernel decodes them.

A fed value is such a description if it has `images` (n, ...), `corners`, `turned`, `mean` and
`factor`, each an array or None, with the meaning that Pixels of sparkdl.data gives them.
"""

from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels.modules import C_TYPES
from sparkdl.engine.backends.cuda.kernels.walks import require_few_numbers
from sparkdl.engine.planner import align
from sparkdl.engine.program import copy_into

THREADS = 256
MOST_AXES = 4
LIE = np.dtype([("channel", "i8"), ("row", "i8"), ("column", "i8")])


@dataclass(frozen=True)
class ImageFeed:
    """The transfer format of images of one kind.

    Parameters
    ----------
    kind : numpy type of the stored images
    stored, mean, factor : (C, H, W) of an image, its mean and its factor; 1 for broadcast axes
    """

    kind: np.dtype
    stored: tuple[int, int, int]
    mean: tuple[int, int, int]
    factor: tuple[int, int, int]

    @classmethod
    def of(cls, pixels):
        """Returns the format of a description; None for other values and unsupported images."""
        images = getattr(pixels, "images", None)
        if images is None or images.ndim > MOST_AXES or images.dtype.name not in C_TYPES:
            return None
        tables = pixels.mean, pixels.factor
        return cls(images.dtype, three(images.shape[1:]), *(three(np.shape(t)) for t in tables))

    def parts(self, count):
        """Returns {part of a slot: (type, shape)} for `count` images."""
        parts = {"images": (self.kind, (count, *self.stored)), "windows": (np.int32, (count, 4))}
        return parts | {"mean": (np.float32, self.mean), "factor": (np.float32, self.factor)}

    def size(self, target):
        """Returns the bytes of a slot that an input takes."""
        parts = self.parts(len(target.array)).values()
        return sum(align(prod(shape) * np.dtype(kind).itemsize) for kind, shape in parts)

    def plan_transfer(self, session, target, host, device):
        """Returns (function that fills a part of a slot, calls that transfer it to the input)."""
        on_host, on_device, start = {}, {}, 0
        for name, (kind, shape) in self.parts(len(target.array)).items():
            size = prod(shape) * np.dtype(kind).itemsize
            for views, memory in ((on_host, host), (on_device, device)):
                views[name] = memory[start : start + size].view(kind).reshape(shape)
            start += align(size)
        return partial(fill, on_host), [self.decode(session, target, **on_device)]

    def decode(self, session, target, images, windows, mean, factor):
        memory = target.memory
        require_few_numbers(memory)
        count, inner = len(memory), memory.shape[1:]
        places, height, width = three(inner)
        steps = (0,) * (3 - len(inner)) + memory.strides[1:]
        types = {"S": self.kind.name, "T": memory.dtype.name}
        function = session.family("decode.cu", "decode", **types)
        pixels = count * height * width
        sizes = pixels, places, *self.stored[:1], height, width, *self.stored[1:]
        values = [*map(np.uint32, sizes), images, windows]
        for table in (mean, factor):
            axes = zip(table.shape, table.strides, strict=True)
            lie = tuple(0 if n == 1 else step // table.itemsize for n, step in axes)
            values += [table, np.array(lie, LIE)]
        values += [memory, memory.strides[0], np.array(steps, LIE)]
        return session.launch(function, session.grid(pixels, THREADS), THREADS, *values)


def fill(views, pixels):
    """Writes a description to a slot."""
    images, windows = views["images"], views["windows"]
    copy_into(images, pixels.images.reshape(images.shape))
    windows[:, :2] = 0 if pixels.corners is None else pixels.corners
    windows[:, 2:] = 0 if pixels.turned is None else pixels.turned
    for name, nothing in (("mean", 0), ("factor", 1)):
        table = getattr(pixels, name)
        views[name][...] = nothing if table is None else np.reshape(table, views[name].shape)


def three(shape):
    """Returns (C, H, W), with 1 for missing axes."""
    return (1,) * (3 - len(shape)) + tuple(shape)
