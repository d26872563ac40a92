"""Data layers: the blobs they provide, and where the data is."""

from dataclasses import dataclass, field

from sparkdl.data import files
from sparkdl.data.readers.lmdb_files.databases import first_image
from sparkdl.data.readers.ndarray.hdf5 import list_hdf5_files, open_hdf5
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.file_paths import paths_of
from sparkdl.interop.caffe.messages.schema import MESSAGES, LayerParameter

AXES = ("channels", "height", "width")
TransformationParameter = MESSAGES["TransformationParameter"]
LMDB = 1
OPTIONS = {
    "Data": "data_param",
    "ImageData": "image_data_param",
    "HDF5Data": "hdf5_data_param",
    "MemoryData": "memory_data_param",
    "DummyData": "dummy_data_param",
    "Input": "input_param",
    "WindowData": "window_data_param",
    "CoSData": "cos_data_param",
}


@dataclass(frozen=True, kw_only=True)
class Data:
    """Description of a data layer.

    Parameters
    ----------
    name, type : str
        Name and type of the layer.
    columns : {blob: column of a batch}
        Blobs that the network needs.
    shapes : {blob: shape of one example}, without labels
    source : str
        Where the data is; empty if the layer does not say.
    batch_size : int or None
    transform : TransformationParameter
        Caffe's transformation of images.
    layer : LayerParameter
        The layer itself.
    """

    name: str
    type: str
    columns: dict[str, str]
    shapes: dict[str, tuple[int, ...]]
    source: str = ""
    batch_size: int | None = None
    transform: TransformationParameter = field(default_factory=TransformationParameter)
    layer: LayerParameter = field(default_factory=LayerParameter)


def data(layer, net):
    """Adds the blobs that are read: labels as columns to compare with, others as inputs."""
    options = getattr(layer, OPTIONS[layer.type])
    columns, shapes = {}, {}
    for place, top in enumerate(layer.top):
        if not net.uses.is_read(top):
            continue
        if top in net.uses.labels:
            columns[top] = net.uses.column(top)
            net.give_labels(top, columns[top])
        else:
            net.give(top, shape_of(layer, options, place, net))
            shapes[top] = net.shape(top)
    net.data.append(
        Data(
            name=layer.name,
            type=layer.type,
            columns=columns,
            shapes=shapes,
            source=getattr(options, "source", ""),
            batch_size=getattr(options, "batch_size", None),
            transform=layer.transform_param,
            layer=layer,
        )
    )


def unread_columns(data):
    """Returns {blob: column of a batch} for tops that the network does not read."""
    if data.type in ("CoSData", "HDF5Data"):
        return {top: f"{top} (unread)" for top in data.layer.top if top not in data.columns}
    return {top: "labels" for top in data.layer.top[1:] if top not in data.columns}


def shape_of(layer, options, place, net):
    """Returns the shape of one example of the blob at `place`."""
    top = layer.top[place]
    if top in net.shapes:
        return tuple(net.shapes[top])
    function, by_time = SHAPES.get(layer.type), net.uses.is_time_major(top)
    shape = function and function(layer, options, place, by_time)
    if shape is None:
        raise ConfigError(
            f"{reason(layer, options, top)}the net does not say the shape of {top!r}; give "
            f"shapes={{{top!r}: (channels, height, width)}} (-shapes {top}:CHANNELS,HEIGHT,WIDTH)"
        )
    return tuple(shape)


def reason(layer, options, top):
    """Returns the reason why the data does not give a shape: "PATH is not there, and "."""
    known = {"Data": LMDB, "HDF5Data": None}
    if layer.type not in known or getattr(options, "backend", None) != known[layer.type]:
        return ""
    paths = paths_of(options.source) if layer.type == "Data" else (options.source,)
    if not any(paths):
        return "the layer names no source, and "
    if not files.exists(paths[0]):
        return f"{paths[0]} is not there, and "
    return f"{paths[0]} has no data set {top!r}, and " if layer.type == "HDF5Data" else ""


def of_database(layer, options, place, by_time):
    """Returns the shape of the first record of an existing LMDB, the first of several."""
    source = next(iter(paths_of(options.source)), "")
    if place or options.backend != LMDB or not files.exists(source):
        return None
    first = first_image(source)
    return None if first is None else crop_shape(layer, first.shape)


def of_hdf5(layer, options, place, by_time):
    """Returns the shape of the blob's dataset in the first file of an existing list."""
    if not files.exists(options.source):
        return None
    with open_hdf5(list_hdf5_files(options.source)[0]) as file:
        dataset = file.get(layer.top[place])
        return None if dataset is None else dataset.shape[1:]


def of_images(layer, options, place, by_time):
    """Returns the shape, if images are resized or cropped to one size."""
    size = options.new_height, options.new_width
    if place or not (all(size) or layer.transform_param.crop_size):
        return None
    return crop_shape(layer, (3 if options.is_color else 1, *size))


def of_windows(layer, options, place, by_time):
    return None if place else crop_shape(layer, (3, 0, 0))


def of_memory(layer, options, place, by_time):
    sizes = options.channels, options.height, options.width
    return None if place or not all(sizes) else crop_shape(layer, sizes)


def of_dummies(layer, options, place, by_time):
    if options.shape:
        return of_inputs(layer, options, place, by_time)
    sizes = (options.channels, options.height, options.width)
    return [size[min(place, len(size) - 1)] for size in sizes]


def of_inputs(layer, options, place, by_time):
    if not options.shape:
        return None
    dims = options.shape[min(place, len(options.shape) - 1)].dim
    return (*dims[:1], *dims[2:]) if by_time else dims[1:]


def of_columns(layer, options, place, by_time):
    """Returns the shape of CoSData, with as many sizes as a sample has axes, after transforms."""
    top = options.top[place]
    axes = [(getattr(top, f"out_{name}"), getattr(top, name)) for name in AXES]
    crop = top.transform_param.crop_size
    sizes = [out or size for out, size in axes]
    if crop:
        sizes = [sizes[0], *(out or crop for out, _ in axes[1:])]
    sizes = sizes[: top.sample_num_axes]
    return sizes if all(sizes) else None


def crop_shape(layer, shape):
    """Returns the shape of images after the layer's transforms."""
    transform = layer.transform_param
    channels = 3 if transform.force_color else 1 if transform.force_gray else shape[0]
    size = transform.crop_size
    return (channels, size, size) if size else (channels, *shape[1:])


SHAPES = {
    "Data": of_database,
    "ImageData": of_images,
    "WindowData": of_windows,
    "MemoryData": of_memory,
    "DummyData": of_dummies,
    "Input": of_inputs,
    "CoSData": of_columns,
    "HDF5Data": of_hdf5,
}
DATA = dict.fromkeys(OPTIONS, data)
