"""Upgrade of nets of earlier versions of Caffe to the form of 1.0.

V0 had one message for the options of all layers, V1 an enum of layer types and lists of rates; in
both, data layers had their own transform options. Also upgraded are inputs given beside the layers,
superfluous rates of a BatchNorm, and solver types given by number.
"""

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.schema import LayerParameter, NetParameter, ParamSpec
from sparkdl.interop.caffe.nets.upgrade_v0 import from_v0, set_field

V1_TYPES = {
    "ABSVAL": "AbsVal",
    "ACCURACY": "Accuracy",
    "ARGMAX": "ArgMax",
    "BNLL": "BNLL",
    "CONCAT": "Concat",
    "CONTRASTIVE_LOSS": "ContrastiveLoss",
    "CONVOLUTION": "Convolution",
    "DATA": "Data",
    "DECONVOLUTION": "Deconvolution",
    "DROPOUT": "Dropout",
    "DUMMY_DATA": "DummyData",
    "ELTWISE": "Eltwise",
    "EUCLIDEAN_LOSS": "EuclideanLoss",
    "EXP": "Exp",
    "FLATTEN": "Flatten",
    "HDF5_DATA": "HDF5Data",
    "HDF5_OUTPUT": "HDF5Output",
    "HINGE_LOSS": "HingeLoss",
    "IM2COL": "Im2col",
    "IMAGE_DATA": "ImageData",
    "INFOGAIN_LOSS": "InfogainLoss",
    "INNER_PRODUCT": "InnerProduct",
    "LRN": "LRN",
    "MEMORY_DATA": "MemoryData",
    "MULTINOMIAL_LOGISTIC_LOSS": "MultinomialLogisticLoss",
    "MVN": "MVN",
    "POOLING": "Pooling",
    "POWER": "Power",
    "RELU": "ReLU",
    "SIGMOID": "Sigmoid",
    "SIGMOID_CROSS_ENTROPY_LOSS": "SigmoidCrossEntropyLoss",
    "SILENCE": "Silence",
    "SLICE": "Slice",
    "SOFTMAX": "Softmax",
    "SOFTMAX_LOSS": "SoftmaxWithLoss",
    "SPLIT": "Split",
    "TANH": "TanH",
    "THRESHOLD": "Threshold",
    "WINDOW_DATA": "WindowData",
}
SAME_FIELDS = ("name", "bottom", "top", "include", "exclude", "blobs", "loss_weight")
TRANSFORMED = {"Data": "data_param", "ImageData": "image_data_param"}
TRANSFORMED |= {"WindowData": "window_data_param"}
TRANSFORMATIONS = ("scale", "mean_file", "crop_size", "mirror")


def upgrade_net(net):
    """Returns a copy of `net` in the form of 1.0: layers in `layer`, inputs as a layer, too.

    Raises
    ------
    ConfigError
        If the net has layers of two versions, or of an unknown type.
    """
    if net.layer and net.layers:
        raise ConfigError("a net must have its layers in `layer` or in `layers`, got both")
    new = NetParameter()
    new.CopyFrom(net)
    del new.layer[:], new.layers[:], new.input[:], new.input_shape[:], new.input_dim[:]
    new.layer.extend(input_layers(net))
    old = from_v0(net.layers) if any(one.HasField("layer") for one in net.layers) else net.layers
    for layer in [*net.layer, *map(from_v1, old)]:
        outside_transformed(layer)
        if layer.type == "BatchNorm":
            keep_names(layer)
        new.layer.append(layer)
    return new


def keep_names(layer):
    """Reduces a BatchNorm's ParamSpecs to names: mean, variance and factor are not learned."""
    names = [spec.name for spec in layer.param]
    del layer.param[:]
    if any(names):
        layer.param.extend(ParamSpec(name=name or None) for name in names)


def input_layers(net):
    """Returns an Input layer for inputs given beside the layers."""
    if not net.input:
        return []
    dims = list(net.input_dim)
    shapes = [list(shape.dim) for shape in net.input_shape]
    shapes = shapes or [dims[i : i + 4] for i in range(0, len(dims), 4)]
    if len(shapes) != len(net.input):
        raise ConfigError(f"{len(net.input)} inputs must have as many shapes, got {len(shapes)}")
    layer = LayerParameter(name="input", type="Input", top=net.input)
    for shape in shapes:
        layer.input_param.shape.add(dim=shape)
    return [layer]


def from_v1(old):
    """Converts a V1 layer to 1.0."""
    kind = old.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number[old.type].name
    if kind not in V1_TYPES:
        raise ConfigError(f"layer {old.name!r} must have a type, got {kind}")
    layer = LayerParameter(type=V1_TYPES[kind])
    for field, value in old.ListFields():
        if field.name in SAME_FIELDS or field.name.endswith("_param"):
            set_field(layer, field.name, value)
    count = max(map(len, (old.param, old.blobs_lr, old.weight_decay, old.blob_share_mode)))
    for i in range(count):
        spec = layer.param.add()
        for name, values in (
            ("name", old.param),
            ("lr_mult", old.blobs_lr),
            ("decay_mult", old.weight_decay),
            ("share_mode", old.blob_share_mode),
        ):
            if i < len(values):
                setattr(spec, name, values[i])
    return layer


def outside_transformed(layer):
    """Moves the transform options of a data layer to transform_param."""
    options = TRANSFORMED.get(layer.type)
    if options is None or not layer.HasField(options):
        return
    options = getattr(layer, options)
    for name in TRANSFORMATIONS:
        if options.HasField(name):
            setattr(layer.transform_param, name, getattr(options, name))
            options.ClearField(name)
