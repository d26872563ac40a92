"""Conversion of Caffe's transform_param to transforms of images."""

from sparkdl.data import Compose, Crop, MeanImage, Mirror, Scale
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.messages.blobs import read_mean
from sparkdl.interop.caffe.policies import shortest


def transforms_of(param, layer, column="features"):
    """Returns the transforms in Caffe's order: mean subtraction of whole images, crop, the rest.

    Parameters
    ----------
    param : TransformationParameter
    layer : str
        Name of the layer, for errors.
    column : str
        Column of a batch.
    """
    if param.force_color or param.force_gray:
        raise UnsupportedError(f"layer {layer!r} must not have force_color or force_gray")
    if param.mean_file and param.mean_value:
        raise ConfigError(f"layer {layer!r} must have mean_file or mean_value, got both")
    means, factor = tuple(map(shortest, param.mean_value)), shortest(param.scale)
    transforms = []
    if param.mean_file:
        transforms.append(MeanImage(mean=read_mean(param.mean_file), column=column))
    if param.crop_size:
        transforms.append(Crop(size=param.crop_size, column=column))
    if param.mirror:
        transforms.append(Mirror(column=column))
    if means or factor != 1:
        transforms.append(Scale(factor=factor, mean=means, column=column))
    return tuple(transforms)


def one(transforms):
    """Combines the transforms into one; None without any."""
    return Compose(transforms) if transforms else None
