"""Upgrade of V0 layers to V1."""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.schema import MESSAGES

# V0 type: (V1 type, message of its options)
TYPES = {
    "accuracy": ("ACCURACY", None),
    "bnll": ("BNLL", None),
    "concat": ("CONCAT", "concat_param"),
    "conv": ("CONVOLUTION", "convolution_param"),
    "data": ("DATA", "data_param"),
    "dropout": ("DROPOUT", "dropout_param"),
    "euclidean_loss": ("EUCLIDEAN_LOSS", None),
    "flatten": ("FLATTEN", None),
    "hdf5_data": ("HDF5_DATA", "hdf5_data_param"),
    "hdf5_output": ("HDF5_OUTPUT", "hdf5_output_param"),
    "im2col": ("IM2COL", "convolution_param"),
    "images": ("IMAGE_DATA", "image_data_param"),
    "infogain_loss": ("INFOGAIN_LOSS", "infogain_loss_param"),
    "innerproduct": ("INNER_PRODUCT", "inner_product_param"),
    "lrn": ("LRN", "lrn_param"),
    "multinomial_logistic_loss": ("MULTINOMIAL_LOGISTIC_LOSS", None),
    "pool": ("POOLING", "pooling_param"),
    "relu": ("RELU", None),
    "sigmoid": ("SIGMOID", None),
    "softmax": ("SOFTMAX", None),
    "softmax_loss": ("SOFTMAX_LOSS", None),
    "split": ("SPLIT", None),
    "tanh": ("TANH", None),
    "window_data": ("WINDOW_DATA", "window_data_param"),
}
# {name in V0: name in the V1 options}, if they differ
RENAMED = {
    "biasterm": "bias_term",
    "kernelsize": "kernel_size",
    "batchsize": "batch_size",
    "shuffle_images": "shuffle",
    "det_fg_threshold": "fg_threshold",
    "det_bg_threshold": "bg_threshold",
    "det_fg_fraction": "fg_fraction",
    "det_context_pad": "context_pad",
    "det_crop_mode": "crop_mode",
}
TRANSFORM = {"scale": "scale", "meanfile": "mean_file", "cropsize": "crop_size", "mirror": "mirror"}
OF_THE_LAYER = ("blobs", "blobs_lr", "weight_decay")
ELSEWHERE = ("name", "type")
PADDED = ("conv", "pool")


def from_v0(layers):
    """Converts V0 layers to [V1LayerParameter]; padding layers are merged into their readers."""
    paddings = {top: one for one in layers if one.layer.type == "padding" for top in one.top}
    found = [take_padding(one, paddings) for one in layers]
    return [convert_layer(one) for one in found if one.layer.type != "padding"]


def take_padding(outer, paddings):
    """Returns a layer with the padding of the preceding padding layer, if any."""
    before = [paddings[bottom] for bottom in outer.bottom if bottom in paddings]
    if not before:
        return outer
    kind = outer.layer.type
    if kind not in PADDED or any(len(one.bottom) != 1 for one in (outer, *before)):
        raise ConfigError(
            f"layer {before[0].layer.name!r} must pad the one bottom of one of {PADDED}, "
            f"got {outer.layer.name!r}: {kind!r}"
        )
    new = MESSAGES["V1LayerParameter"]()
    new.CopyFrom(outer)
    new.bottom[0], new.layer.pad = before[0].bottom[0], before[0].layer.pad
    return new


def convert_layer(outer):
    old = outer.layer
    if old.type not in TYPES:
        raise ConfigError(f"layer {old.name!r} must be of one of {list(TYPES)}, got {old.type!r}")
    kind, options = TYPES[old.type]
    new = MESSAGES["V1LayerParameter"](name=old.name, top=outer.top, bottom=outer.bottom)
    new.type = new.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_name[kind].number
    target = getattr(new, options) if options else None
    for field, value in old.ListFields():
        if field.name not in ELSEWHERE:
            place(new, target, field, value)
    return new


def place(new, target, field, value):
    """Sets an option at its place in V1."""
    if field.name in OF_THE_LAYER:
        getattr(new, field.name).extend(value)
    elif field.name in TRANSFORM:
        setattr(new.transform_param, TRANSFORM[field.name], value)
    elif field.name == "hdf5_output_param":
        new.hdf5_output_param.CopyFrom(value)
    else:
        name = RENAMED.get(field.name, field.name)
        known = target is not None and name in target.DESCRIPTOR.fields_by_name
        if not known:
            raise ConfigError(f"layer {new.name!r} must not have {field.name}, got {value!r}")
        many = target.DESCRIPTOR.fields_by_name[name].is_repeated
        set_field(target, name, [value] if many else value)


def set_field(message, name, value):
    """Sets a field of any kind."""
    field = message.DESCRIPTOR.fields_by_name[name]
    if field.is_repeated:
        getattr(message, name).extend(value)
    elif field.message_type is not None:
        getattr(message, name).CopyFrom(value)
    else:
        setattr(message, name, value)
