"""Transforms, as type checkers and editors see them; __init__.py loads them when they are used."""

from sparkdl.data.transforms.base import Chance as Chance
from sparkdl.data.transforms.base import Transform as Transform
from sparkdl.data.transforms.base import in_training as in_training
from sparkdl.data.transforms.base import record_shapes as record_shapes
from sparkdl.data.transforms.color import ChannelSwap as ChannelSwap
from sparkdl.data.transforms.color import ColorJitter as ColorJitter
from sparkdl.data.transforms.color import Grayscale as Grayscale
from sparkdl.data.transforms.compose import Compose as Compose
from sparkdl.data.transforms.compose import in_order as in_order
from sparkdl.data.transforms.crop import Crop as Crop
from sparkdl.data.transforms.mean_image import MeanImage as MeanImage
from sparkdl.data.transforms.mirror import Mirror as Mirror
from sparkdl.data.transforms.one_hot import OneHot as OneHot
from sparkdl.data.transforms.pad import Pad as Pad
from sparkdl.data.transforms.reshape import ReshapeRecords as ReshapeRecords
from sparkdl.data.transforms.resize import Resize as Resize
from sparkdl.data.transforms.resized_crop import RandomResizedCrop as RandomResizedCrop
from sparkdl.data.transforms.rotate import Rotate as Rotate
from sparkdl.data.transforms.scale import Normalize as Normalize
from sparkdl.data.transforms.scale import Scale as Scale

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
