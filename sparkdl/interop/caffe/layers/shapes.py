"""Layers that put numbers elsewhere and compute nothing."""

from math import prod

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.names import name_of
from sparkdl.interop.caffe.schema import LayerParameter
from sparkdl.interop.caffe.scores import Written
from sparkdl.interop.caffe.trained import axis_of
from sparkdl.nn import Activation, Broadcasting, Flatten, Merge, Reshape, Subset


def concat(layer, net):
    options = layer.concat_param
    axis = options.concat_dim if options.HasField("concat_dim") else options.axis
    axis = axis_of(axis, net.shape(layer.bottom[0]), "axis")
    net.add(layer, Merge(axis=axis))


def slices(layer, net):
    """A vertex for each top."""
    options, shape = layer.slice_param, net.shape(layer.bottom[0])
    axis = options.slice_dim if options.HasField("slice_dim") else options.axis
    axis = axis_of(axis, shape, "axis")
    points, count = list(options.slice_point), len(layer.top)
    if not points and shape[axis] % count == 0:
        points = [shape[axis] // count * i for i in range(1, count)]
    bounds = [0, *points, shape[axis]]
    if len(bounds) != count + 1 or sorted(set(bounds)) != bounds:
        raise ConfigError(f"{count} tops cannot be cut from {shape[axis]} at {points}")
    for top, start, stop in zip(layer.top, bounds, bounds[1:]):
        ours = Subset(start=start, stop=stop, axis=axis)
        net.add(layer, ours, layer.bottom[:1], top, f"{name_of(layer)}/{top}")


def split(layer, net):
    for top in layer.top:
        net.alias(top, layer.bottom[0])


def silence(layer, net):
    """Its bottoms need no reader."""


def hdf5_output(layer, net):
    columns = {blob: net.column(blob) or net.source(blob) for blob in layer.bottom}
    net.written.append(Written(file=layer.hdf5_output_param.file_name, columns=columns))


def flatten(layer, net):
    options, shape = layer.flatten_param, net.shape(layer.bottom[0])
    first = axis_of(options.axis, shape, "axis")
    last = axis_of(options.end_axis, shape, "end_axis")
    if (first, last) == (0, len(shape) - 1):
        return net.add(layer, Flatten())
    if last < first:
        raise ConfigError(f"end_axis must not be before axis, got {options}")
    inside = prod(shape[first : last + 1])
    return net.add(layer, Reshape(shape=(*shape[:first], inside, *shape[last + 1 :])))


def reshape(layer, net):
    """Sizes of 0 stay as they are; that of the batch must."""
    options, shape = layer.reshape_param, net.shape(layer.bottom[0])
    dims, batch = list(options.shape.dim), None
    rank = len(shape) + 1
    start = options.axis if options.axis >= 0 else options.axis + rank + 1
    stop = rank if options.num_axes == -1 else start + options.num_axes
    whole = [batch, *shape]
    if stop > rank:
        raise ConfigError(f"num_axes must end within {shape}, got {options.num_axes}")
    new = [whole[start + i] if n == 0 else n for i, n in enumerate(dims)]
    found = [*whole[:start], *new, *whole[stop:]]
    if not found or (found[0] is not batch and -1 in found[1:]):
        raise UnsupportedError(f"a Reshape must leave the batch as it is, got {dims}")
    net.add(layer, Reshape(shape=tuple(found[1:]) or (1,)))


def crop(layer, net):
    """The first bottom, as large as the second from an axis on."""
    options = layer.crop_param
    bottom, like = layer.bottom
    shape, wanted = net.shape(bottom), net.shape(like)
    first = axis_of(options.axis, shape, "axis")
    axes, offsets = range(first, len(shape)), list(options.offset) or [0]
    if len(offsets) not in (1, len(axes)):
        raise ConfigError(f"offset must be one number or {len(axes)}, got {offsets}")
    offsets = offsets * len(axes) if len(offsets) == 1 else offsets
    cuts = [(axis, start) for axis, start in zip(axes, offsets) if wanted[axis] != shape[axis]]
    if not cuts:
        return net.alias(layer.top[0], bottom)
    for i, (axis, start) in enumerate(cuts):
        ours = Subset(start=start, stop=start + wanted[axis], axis=axis)
        name = f"{name_of(layer)}/{axis}" if i < len(cuts) - 1 else name_of(layer)
        net.add(layer, ours, [bottom], layer.top[0], name)
        bottom = layer.top[0]
    return None


def tile(layer, net):
    options = layer.tile_param
    axis = axis_of(options.axis, net.shape(layer.bottom[0]), "axis")
    if options.tiles < 1:
        raise ConfigError(f"tiles must be at least 1, got {options.tiles}")
    net.add(layer, Merge(axis=axis), [layer.bottom[0]] * options.tiles)


def choose(layer, net):
    """Filter: examples that are not chosen become 0, and losses behind do not count them."""
    *bottoms, selector = layer.bottom
    name = name_of(layer)
    size, there = f"{name}/size", f"{name}/there"
    net.add(LayerParameter(), Activation(function="abs_val"), [selector], size, size)
    net.add(LayerParameter(), Activation(function="threshold"), [size], there, there)
    for bottom, top in zip(bottoms, layer.top, strict=True):
        net.add(layer, Broadcasting(), [bottom, there], top, f"{name}/{top}")
        net.chosen[top] = there


SHAPES = {
    "Concat": concat,
    "Slice": slices,
    "Split": split,
    "Silence": silence,
    "HDF5Output": hdf5_output,
    "Flatten": flatten,
    "Reshape": reshape,
    "Crop": crop,
    "Tile": tile,
    "Filter": choose,
}
