"""Layers that only rearrange numbers."""

from math import prod

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.layers.scores import WrittenBlobs
from sparkdl.interop.caffe.messages.schema import LayerParameter
from sparkdl.interop.caffe.nets.names import name_of
from sparkdl.nn import (
    Activation,
    Broadcasting,
    Flatten,
    Merge,
    Reshape,
    Stack,
    Subset,
    Unstack,
)

BATCH = None  # unknown size of the batch


def concat(layer, net):
    options = layer.concat_param
    axis = options.concat_dim if options.HasField("concat_dim") else options.axis
    if len(layer.bottom) > 1 and net.is_batch(layer.bottom[0], axis):
        net.add(layer, Stack())
        net.stacked[layer.top[0]] *= len(layer.bottom)
    else:
        net.add(layer, Merge(axis=net.axis(layer.bottom[0], axis)))


def slices(layer, net):
    """Adds a vertex for each top."""
    options, shape = layer.slice_param, net.shape(layer.bottom[0])
    axis = options.slice_dim if options.HasField("slice_dim") else options.axis
    points, count = list(options.slice_point), len(layer.top)
    if count > 1 and net.is_batch(layer.bottom[0], axis):
        return unstack(layer, net, points)
    axis = net.axis(layer.bottom[0], axis)
    if not points and shape[axis] % count == 0:
        points = [shape[axis] // count * i for i in range(1, count)]
    bounds = [0, *points, shape[axis]]
    if len(bounds) != count + 1 or sorted(set(bounds)) != bounds:
        raise ConfigError(f"{count} tops cannot be cut from {shape[axis]} at {points}")
    for top, start, stop in zip(layer.top, bounds, bounds[1:]):
        new_layer = Subset(start=start, stop=stop, axis=axis)
        net.add(layer, new_layer, layer.bottom[:1], top, f"{name_of(layer)}/{top}")
    return None


def unstack(layer, net, points):
    """Adds a vertex for each of the batches joined by a Concat."""
    bottom, count = layer.bottom[0], len(layer.top)
    even = [points[0] * i for i in range(1, count)] if points else []
    if net.stacked.get(bottom, 1) != count or points != even:
        raise UnsupportedError(
            "a Slice along the batch must undo a Concat along it, with one top for each batch "
            f"and equal sizes, got {count} tops of {net.stacked.get(bottom, 1)}; the net does not "
            "say how many examples a minibatch has"
        )
    for index, top in enumerate(layer.top):
        new_layer = Unstack(index=index, count=count)
        net.add(layer, new_layer, [bottom], top, f"{name_of(layer)}/{top}")
        net.stacked[top] = 1


def split(layer, net):
    for top in layer.top:
        net.alias(top, layer.bottom[0])


def silence(layer, net):
    """Does nothing: its bottoms need no reader."""


def hdf5_output(layer, net):
    blobs = [net.one_batch(blob) for blob in layer.bottom]
    columns = {blob: net.column(blob) or net.source(blob) for blob in blobs}
    net.written.append(WrittenBlobs(file=layer.hdf5_output_param.file_name, columns=columns))


def flatten(layer, net):
    options, shape = layer.flatten_param, net.shape(layer.bottom[0])
    bottom, rank = layer.bottom[0], len(shape) + 1
    ends = [axis + rank if axis < 0 else axis for axis in (options.axis, options.end_axis)]
    if ends[0] == ends[1] and 0 <= ends[0] < rank:
        return net.add(layer, Reshape(shape=shape))
    first = net.axis(bottom, options.axis, behind=ends[1] >= net.batch_axis(bottom))
    last = net.axis(bottom, options.end_axis, "end_axis")
    if (first, last) == (0, len(shape) - 1):
        return net.add(layer, Flatten())
    if last < first:
        raise ConfigError(f"end_axis must not be before axis, got {options}")
    inside = prod(shape[first : last + 1])
    return net.add(layer, Reshape(shape=(*shape[:first], inside, *shape[last + 1 :])))


def reshape(layer, net):
    """Reshapes; sizes of 0 are kept, and the batch axis must be.

    A single step may be added before the batch axis, or removed.
    """
    options, shape = layer.reshape_param, net.shape(layer.bottom[0])
    dims, steps = list(options.shape.dim), net.batch_axis(layer.bottom[0])
    with_batch = [*shape[:steps], BATCH, *shape[steps:]]
    rank = len(with_batch)
    start = options.axis if options.axis >= 0 else options.axis + rank + 1
    stop = rank if options.num_axes == -1 else start + options.num_axes
    if not 0 <= start <= stop <= rank:
        raise ConfigError(f"axis and num_axes must end within {shape}, got {options}")
    if any(n == 0 and start + i >= rank for i, n in enumerate(dims)):
        raise ConfigError(f"a dim of 0 must have an axis of {shape} to copy, got {dims}")
    new = [with_batch[start + i] if n == 0 else n for i, n in enumerate(dims)]
    result = [*with_batch[:start], *new, *with_batch[stop:]]
    place = place_of_batch(result, with_batch)
    if place is None:
        raise UnsupportedError(f"a Reshape must leave the batch as it is, got {dims}")
    net.add(layer, Reshape(shape=tuple(result[:place] + result[place + 1 :]) or (1,)))
    net.mark(net.sequences, layer.top[0], place == 1)
    net.mark(net.single, layer.top[0], len(result) == 1)


def place_of_batch(sizes, before):
    """Returns the batch axis, 0 or 1, among the sizes, or None if it does not stay intact."""
    was = before.index(BATCH)
    return next((place for place in (was, 1 - was) if stays_whole(sizes, before, was, place)), None)


def stays_whole(sizes, before, was, place):
    """Returns whether the batch, at axis `was` before, can be at `place` of the sizes.

    Only a single step may swap places with it. If the batch size is a number or -1, the other sizes
    decide.
    """
    rest = [n for i, n in enumerate(sizes) if i != place]
    if place >= len(sizes) or BATCH in rest:
        return False
    alone = place != was or sizes[place] is not BATCH
    count = prod(n for n in before if n is not BATCH)
    if alone and prod(n for n in rest if n != -1) != count:
        return False
    if place != was:
        return (before[0] if was else abs(sizes[0])) == 1
    return (was == 0 or rest[0] == before[0]) and (sizes[place] is BATCH or -1 not in rest)


def crop(layer, net):
    """Crops the first bottom to the size of the second, from an axis on."""
    options = layer.crop_param
    bottom, like = layer.bottom
    shape, wanted = net.shape(bottom), net.shape(like)
    if len(wanted) != len(shape):
        raise ConfigError(f"Crop must have two bottoms of as many axes, got {shape} and {wanted}")
    first = net.axis(layer.bottom[0], options.axis, behind=True)
    axes, offsets = range(first, len(shape)), list(options.offset) or [0]
    if len(offsets) not in (1, len(axes)):
        raise ConfigError(f"offset must be one number or {len(axes)}, got {offsets}")
    offsets = offsets * len(axes) if len(offsets) == 1 else offsets
    cuts = [(axis, start) for axis, start in zip(axes, offsets) if wanted[axis] != shape[axis]]
    if not cuts:
        return net.alias(layer.top[0], bottom)
    for i, (axis, start) in enumerate(cuts):
        new_layer = Subset(start=start, stop=start + wanted[axis], axis=axis)
        name = f"{name_of(layer)}/{axis}" if i < len(cuts) - 1 else name_of(layer)
        net.add(layer, new_layer, [bottom], layer.top[0], name)
        bottom = layer.top[0]
    return None


def tile(layer, net):
    options = layer.tile_param
    axis = net.axis(layer.bottom[0], options.axis)
    if options.tiles < 1:
        raise ConfigError(f"tiles must be at least 1, got {options.tiles}")
    net.add(layer, Merge(axis=axis), [layer.bottom[0]] * options.tiles)


def choose(layer, net):
    """Filters: dropped examples become 0, and losses after it ignore them."""
    *bottoms, selector = layer.bottom
    name = name_of(layer)
    size, indicator = f"{name}/size", f"{name}/there"
    net.add(LayerParameter(), Activation("abs_val"), [selector], size, size)
    net.add(LayerParameter(), Activation("heaviside"), [size], indicator, indicator)
    for bottom, top in zip(bottoms, layer.top, strict=True):
        net.add(layer, Broadcasting(), [bottom, indicator], top, f"{name}/{top}")
        net.chosen[top] = indicator


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
