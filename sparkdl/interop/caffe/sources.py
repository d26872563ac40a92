"""The data that Caffe's and CaffeOnSpark's layers name, as sources."""

from sparkdl.data import LMDB, Compose, Crop, Images, MeanImage, Mirror, Scale, SequenceFiles
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.blobs import read_mean
from sparkdl.interop.caffe.policies import shortest

LMDB_BACKEND = 1
CLASSES = "com.yahoo.ml.caffe."


def source_of(data):
    """The source of the data that a layer of Caffe names, with what it does to them.

    Images are mirrored in training only, while Caffe mirrors them in tests as well.

    Parameters
    ----------
    data : Data
        Of CaffeNet.data.

    Raises
    ------
    ConfigError
        For options that do not go together, and where the layer names no data.
    UnsupportedError
        For data of a kind that is not read from here.
    """
    if data.type not in SOURCES:
        known = ", ".join(SOURCES)
        raise UnsupportedError(
            f"layer {data.name!r} must be one of {known} to name its data, got {data.type}"
        )
    if not data.source:
        raise ConfigError(f"layer {data.name!r} must name its source, got none")
    return SOURCES[data.type](data)


def transforms_of(data):
    """What a layer does to images, in Caffe's order: (x - mean) of the whole, a crop, the rest."""
    said = data.transform
    if said.force_color or said.force_gray:
        raise UnsupportedError(f"layer {data.name!r} must not have force_color or force_gray")
    if said.mean_file and said.mean_value:
        raise ConfigError(f"layer {data.name!r} must have mean_file or mean_value, got both")
    means, factor = tuple(map(shortest, said.mean_value)), shortest(said.scale)
    found = [MeanImage(mean=read_mean(said.mean_file))] if said.mean_file else []
    found += [Crop(size=said.crop_size)] if said.crop_size else []
    found += [Mirror()] if said.mirror else []
    return (*found, *([Scale(factor=factor, mean=means)] if means or factor != 1 else []))


def one(transforms):
    """The same as one transform, or None."""
    return Compose(transforms) if transforms else None


def database(data):
    """A Data layer: an LMDB."""
    if data.layer.data_param.backend != LMDB_BACKEND:
        raise UnsupportedError(
            f"layer {data.name!r} must have `backend: LMDB`, got LEVELDB; convert the database"
        )
    return LMDB(data.source, transforms=transforms_of(data))


def images(data):
    """An ImageData layer: a list of files and labels."""
    options = data.layer.image_data_param
    size = (options.new_height, options.new_width)
    return Images(
        options.root_folder or "/",
        list_file=data.source,
        channels="BGR" if options.is_color else "gray",
        size=size if all(size) else None,
        transform=one(transforms_of(data)),
    )


def of_class(data):
    """A MemoryData layer of CaffeOnSpark, whose source_class says what the data are."""
    options, kind = data.layer.memory_data_param, data.layer.source_class.removeprefix(CLASSES)
    if kind == "LMDB":
        return LMDB(data.source, transforms=transforms_of(data))
    if kind == "SeqImageDataSource":
        size = (options.height, options.width)
        channels = "gray" if options.channels == 1 else "BGR"
        transform = one(transforms_of(data))
        return SequenceFiles(data.source, channels=channels, size=size, transform=transform)
    raise UnsupportedError(
        f"layer {data.name!r} must have the source_class LMDB or SeqImageDataSource, got {kind!r}"
    )


SOURCES = {"Data": database, "ImageData": images, "MemoryData": of_class}
