"""Data named by Caffe's and CaffeOnSpark's layers, as sources."""

from sparkdl.data import HDF5, LMDB, Images, SequenceFiles
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.datasets.dataframes import of_images, of_tops
from sparkdl.interop.caffe.datasets.transform_param import one, transforms_of
from sparkdl.interop.caffe.layers.data import unread_columns
from sparkdl.interop.caffe.messages.file_paths import paths_of

LMDB_BACKEND = 1
CLASSES = "com.yahoo.ml.caffe."


def source_of(data):
    """Returns the source for a Caffe data layer, with the layer's transforms.

    Images are mirrored only in training; Caffe mirrors them in tests as well.

    Parameters
    ----------
    data : Data
        Of CaffeNet.data.

    Raises
    ------
    ConfigError
        If options are incompatible, or the layer names no data.
    UnsupportedError
        If the kind of data is not supported.
    """
    if data.type not in SOURCES:
        known = ", ".join(SOURCES)
        raise UnsupportedError(
            f"layer {data.name!r} must be one of {known} to name its data, got {data.type}"
        )
    if not data.source:
        raise ConfigError(f"layer {data.name!r} must name its source, got none")
    return SOURCES[data.type](data)


def database(data):
    """Returns the source of a Data layer: an LMDB."""
    if data.layer.data_param.backend != LMDB_BACKEND:
        raise UnsupportedError(
            f"layer {data.name!r} must have `backend: LMDB`, got LEVELDB, which is not read here; "
            "write the images as an LMDB by `sparkdl convert`, or Caffe's convert_imageset "
            "-backend=lmdb"
        )
    return databases(data)


def databases(data):
    """Returns the source of one LMDB, or of several in sequence."""
    first, *more = paths_of(data.source)
    return LMDB(
        (first, *more) if more else first, transform=transforms_of(data.transform, data.name)
    )


def images(data):
    """Returns the source of an ImageData layer: a list of files and labels."""
    options = data.layer.image_data_param
    size = (options.new_height, options.new_width)
    return Images(
        options.root_folder or "/",
        list_file=data.source,
        channels="BGR" if options.is_color else "gray",
        size=size if all(size) else None,
        transform=one(transforms_of(data.transform, data.name)),
    )


def datasets(data):
    """Returns the source of an HDF5Data layer: a list of files with a dataset for each top."""
    if data.layer.HasField("transform_param"):
        raise ConfigError(
            f"layer {data.name!r} must not have transform_param: Caffe's has no effect"
        )
    named = data.columns | unread_columns(data)
    return HDF5(data.source, columns={named[top]: top for top in data.layer.top})


def of_class(data):
    """Returns the source of a CoSData or MemoryData layer of CaffeOnSpark, by its source_class."""
    kind, known = data.layer.source_class.removeprefix(CLASSES), CLASSES_OF[data.type]
    if kind not in known:
        raise UnsupportedError(
            f"layer {data.name!r} must have one of {', '.join(known)} as its source_class, got "
            f"{kind!r}"
        )
    return known[kind](data)


def sequence_files(data):
    """Returns the source of SequenceFiles of images, resized to the layer's size."""
    options = data.layer.memory_data_param
    return SequenceFiles(
        data.source,
        channels="gray" if options.channels == 1 else "BGR",
        size=(options.height, options.width),
        transform=one(transforms_of(data.transform, data.name)),
    )


CLASSES_OF = {
    "MemoryData": {
        "LMDB": databases,
        "SeqImageDataSource": sequence_files,
        "ImageDataFrame": of_images,
    },
    "CoSData": {"DataFrameSource": of_tops},
}
SOURCES = {
    "Data": database,
    "ImageData": images,
    "HDF5Data": datasets,
    "MemoryData": of_class,
    "CoSData": of_class,
}
