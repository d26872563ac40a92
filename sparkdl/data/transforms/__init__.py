"""Transforms of minibatches, between storage and the network."""

from sparkdl.lazy_names import homes, lazy_names

TRANSFORMS = {
    "sparkdl.data.transforms.color": "ChannelSwap ColorJitter Grayscale",
    "sparkdl.data.transforms.compose": "Compose",
    "sparkdl.data.transforms.crop": "Crop",
    "sparkdl.data.transforms.mean_image": "MeanImage",
    "sparkdl.data.transforms.mirror": "Mirror",
    "sparkdl.data.transforms.one_hot": "OneHot",
    "sparkdl.data.transforms.pad": "Pad",
    "sparkdl.data.transforms.reshape": "ReshapeRecords",
    "sparkdl.data.transforms.resize": "Resize",
    "sparkdl.data.transforms.resized_crop": "RandomResizedCrop",
    "sparkdl.data.transforms.rotate": "Rotate",
    "sparkdl.data.transforms.scale": "Normalize Scale",
}
BESIDE = {
    "sparkdl.data.transforms.base": "Chance Transform in_training record_shapes",
    "sparkdl.data.transforms.compose": "in_order",
}

MEMBERS = homes(TRANSFORMS)
__all__ = [*MEMBERS, "Transform"]
__all__.sort(key=str.casefold)
__getattr__, __dir__ = lazy_names(__name__, MEMBERS | homes(BESIDE))
