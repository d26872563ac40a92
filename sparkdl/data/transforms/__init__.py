"""Transforms of minibatches, between storage and the network."""

from sparkdl.data.transforms.base import Chance, Transform, in_training, record_shapes
from sparkdl.data.transforms.color import ChannelSwap, ColorJitter, Grayscale
from sparkdl.data.transforms.compose import Compose, in_order
from sparkdl.data.transforms.crop import Crop
from sparkdl.data.transforms.mean_image import MeanImage
from sparkdl.data.transforms.mirror import Mirror
from sparkdl.data.transforms.one_hot import OneHot
from sparkdl.data.transforms.pad import Pad
from sparkdl.data.transforms.reshape import ReshapeRecords
from sparkdl.data.transforms.resize import Resize
from sparkdl.data.transforms.resized_crop import RandomResizedCrop
from sparkdl.data.transforms.rotate import Rotate
from sparkdl.data.transforms.scale import Normalize, Scale

__all__ = [
    "ChannelSwap",
    "ColorJitter",
    "Compose",
    "Crop",
    "Grayscale",
    "MeanImage",
    "Mirror",
    "Normalize",
    "OneHot",
    "Pad",
    "RandomResizedCrop",
    "ReshapeRecords",
    "Resize",
    "Rotate",
    "Scale",
    "Transform",
]
