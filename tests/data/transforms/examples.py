"""An example of each transform, images for it, and helpers that call it."""

import numpy as np

from sparkdl.data import (
    Batch,
    ChannelSwap,
    ColorJitter,
    Crop,
    Grayscale,
    MeanImage,
    Mirror,
    Normalize,
    OneHot,
    Pad,
    RandomResizedCrop,
    ReshapeRecords,
    Resize,
    Rotate,
    Scale,
)
from sparkdl.data.transforms import in_training

SHAPE = (3, 12, 16)
EXAMPLES = {
    "ChannelSwap": ChannelSwap(),
    "ColorJitter": ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1),
    "Crop": Crop(size=(7, 8)),
    "Grayscale": Grayscale(),
    "MeanImage": MeanImage(mean=np.random.default_rng(3).random(SHAPE) * 255),
    "Mirror": Mirror(),
    "Normalize": Normalize(mean=(0.4, 0.5, 0.6), std=0.2, scale=1 / 255),
    "OneHot": OneHot(classes=256),
    "Pad": Pad(size=(2, 3), mode="reflect"),
    "RandomResizedCrop": RandomResizedCrop(size=(9, 8)),
    "ReshapeRecords": ReshapeRecords(shape=(1, 12, 48)),
    "Resize": Resize(size=(9, 21)),
    "Rotate": Rotate(degrees=40),
    "Scale": Scale(factor=0.5, mean=(1, 2, 3)),
}
RANDOM = ["ColorJitter", "Crop", "Mirror", "RandomResizedCrop", "Rotate"]
TO_FLOAT = ["MeanImage", "Normalize", "OneHot", "Scale"]


def images(n=20, shape=SHAPE, dtype=np.uint8, seed=0):
    x = np.random.default_rng(seed).integers(0, 256, (n, *shape))
    return Batch.of(x.astype(dtype), np.arange(n), partition=2, start=7)


def trained(transform, batch, seed=1, epoch=3):
    return in_training(transform, seed, epoch)(batch).features
