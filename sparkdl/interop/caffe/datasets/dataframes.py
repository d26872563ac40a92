"""DataFrames named by CaffeOnSpark's layers, as sources."""

import re

from sparkdl.data.readers.tables.dataframes import FORMATS, DataFrames
from sparkdl.data.readers.tables.frame_columns import Numbers, Pictures
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.datasets.transform_param import one, transforms_of
from sparkdl.interop.caffe.layers.data import unread_columns

SELECTED = re.compile(r"`?(\w+)`?(?:\s+(?:as\s+)?`?(\w+)`?)?", re.IGNORECASE)
ENCODED, PLAIN = (5, 7), 6  # CoSType: ENCODED_IMAGE and ENCODED_IMAGE_WITH_DIM, RAW_IMAGE
EXTRA_COLUMNS = ("channels", "height", "width", "encoded")


def of_tops(data):
    """Returns the source of a CoSData layer with DataFrameSource, with a column for each top."""
    options, tops = data.layer.cos_data_param, data.layer.top
    if len(options.top) != len(tops):
        text = f"must have as many top {{}} as tops, {len(tops)}, got {len(options.top)}"
        raise ConfigError(f"layer {data.name!r} {text}")
    columns, transforms, named = {}, [], data.columns | unread_columns(data)
    for blob, top in zip(tops, options.top, strict=True):
        column = named[blob]
        columns[column] = column_of(top)
        if top.HasField("transform_param") and blob in data.columns:
            if blob not in data.shapes:
                text = f"must not have transform_param of labels, got it of {blob!r}"
                raise UnsupportedError(f"layer {data.name!r} {text}")
            transforms += transforms_of(top.transform_param, data.name, column)
    return DataFrames(
        options.source, columns=columns, format=format_of(data, options), transform=one(transforms)
    )


def column_of(top):
    """Returns the column described by the options of a CoSData top."""
    if top.type not in (*ENCODED, PLAIN):
        return Numbers(name=top.name)
    return Pictures(name=top.name, shape=shape_of(top), encoded=top.type in ENCODED)


def shape_of(options):
    """Returns the stored shape (C, H, W) of images, or None if it is not fully given."""
    sizes = options.channels, options.height, options.width
    return sizes if all(sizes) else None


def of_images(data):
    """Returns the source of a MemoryData layer with ImageDataFrame.

    Its columns are data and label, and per record id, channels, height, width and encoded.
    """
    options = data.layer.memory_data_param
    names = select_columns(data, options.dataframe_column_select)
    missing = [name for name in ("data", "label") if names and name not in names]
    if missing:
        text = f"must select {' and '.join(missing)} by dataframe_column_select, got {names}"
        raise ConfigError(f"layer {data.name!r} {text}")
    extra_columns = {key: names.get(key, key) for key in EXTRA_COLUMNS if not names or key in names}
    images = Pictures(
        name=names.get("data", "data"),
        shape=shape_of(options),
        encoded=options.image_encoded,
        extra_columns=extra_columns,
    )
    return DataFrames(
        options.source,
        columns={"features": images, "labels": Numbers(name=names.get("label", "label"))},
        format=format_of(data, options),
        key=names.get("id", "id"),
        transform=one(transforms_of(data.transform, data.name)),
    )


def select_columns(data, expressions):
    """Parses "column" and "column as name" into {name: column of the DataFrame}."""
    columns = {}
    for text in expressions:
        match = SELECTED.fullmatch(text.strip())
        if match is None:
            raise UnsupportedError(
                f"layer {data.name!r} must select columns, as in 'image as data', got {text!r}; "
                "compute other columns in the DataFrame first"
            )
        column, name = match.groups()
        columns[name or column] = column
    return columns


def format_of(data, options):
    format = options.dataframe_format
    if format not in FORMATS:
        text = f"must have the dataframe_format {' or '.join(FORMATS)}, got {format!r}"
        raise UnsupportedError(f"layer {data.name!r} {text}")
    return format
