"""Arrays of a network, accessed as Caffe's layers and blobs."""

import numpy as np

from sparkdl.interop.caffe.checkpoints.blob_orders import arrays_of, blobs_of
from sparkdl.nn.layers import Merge
from sparkdl.nn.layers.recurrent.base import Recurrent


class LayerArrays:
    """The arrays of a network, by Caffe's layers.

    One Caffe layer may correspond to several sparkdl layers, whose names begin with its name and
    "/".

    Parameters
    ----------
    conf : GraphConf or NetworkConf
    views : {"layer/array": array}
        All parameters and buffers; `put` writes to them.
    layers : {name: LayerParameter}, optional
        CaffeNet.layers. Without it, each sparkdl layer is one of Caffe's.
    owned : bool
        Whether to leave out the arrays that a layer shares with an earlier one, as the histories of
        Caffe's solvers do.
    """

    def __init__(self, conf, views, layers=None, owned=False):
        self._views, self._shapes = views, layers or {}
        self._places, self._widths = {}, widths(conf)
        for place in conf.stack:
            if names_of(place) and (place.owner == place.name or not owned):
                group = self._places.setdefault(self._layer_of(place.name), [])
                if all(other.owner != place.owner for other in group):
                    group.append(place)

    def __iter__(self):
        """Iterates over the names of Caffe's layers that have blobs, in their order."""
        return iter(self._places)

    def __contains__(self, name):
        return name in self._places

    def owners(self, name):
        """Returns the sparkdl layers that own the arrays of a Caffe layer."""
        return {place.owner for place in self._places[name]}

    def is_owner(self, name):
        """Returns whether a layer owns any of its arrays, rather than sharing another's."""
        return any(place.owner == place.name for place in self._places[name])

    def is_trained(self, name):
        return any(place.param_shapes for place in self._places[name])

    def blobs(self, name):
        """Returns the blobs of a Caffe layer."""
        return [blob for place in self._places[name] for blob in self._blobs(place, name)]

    def put(self, name, blobs):
        """Fills the arrays of a Caffe layer from its blobs.

        Raises
        ------
        CheckpointError
            If their number or shapes differ.
        """
        *first, last = self._places[name]
        parts = []
        for place in first:
            count = len(self._blobs(place, name))
            parts.append((place, blobs[:count]))
            blobs = blobs[count:]
        filled = {}
        for place, part in [*parts, (last, blobs)]:
            part = join_static_weights(part, self._widths.get(place.name))
            arrays = arrays_of(place.layer, part, self._of(place), self._shapes.get(name))
            filled |= {f"{place.owner}/{array}": numbers for array, numbers in arrays.items()}
        for array, numbers in filled.items():
            self._views[array][...] = numbers

    def _blobs(self, place, name):
        blobs = blobs_of(place.layer, self._of(place), self._shapes.get(name))
        return split_static_weights(blobs, self._widths.get(place.name))

    def _of(self, place):
        """Returns {array: view} of a sparkdl layer."""
        return {name: self._views[f"{place.owner}/{name}"] for name in names_of(place)}

    def _layer_of(self, name):
        """Returns the Caffe layer that a sparkdl layer belongs to."""
        if name in self._shapes:
            return name
        longer = [layer for layer in self._shapes if name.startswith(f"{layer}/")]
        return max(longer, key=len, default=name)


def names_of(place):
    """Returns the names of the arrays that a sparkdl layer uses."""
    layer, shape = place.layer, place.in_shape
    return [*layer.param_shapes(shape), *layer.buffer_shapes(shape)]


def widths(conf):
    """Returns {recurrent layer: features per step} for those with a static input."""
    joins = {place.name: place for place in conf.stack if isinstance(place.layer, Merge)}
    return {
        place.name: joins[f"{place.name}/both"].in_shape[0][-1]
        for place in conf.stack
        if isinstance(place.layer, Recurrent) and f"{place.name}/both" in joins
    }


def split_static_weights(blobs, width):
    """Splits the weights of a recurrent layer as in Caffe, where a static input has its own."""
    if width is None:
        return blobs
    w, b, *rest = blobs
    return [w[:, :width], b, w[:, width:], *rest]


def join_static_weights(blobs, width):
    """Joins the weights of all inputs of a recurrent layer into the first blob."""
    if width is None or [blob.ndim for blob in blobs[:3]] != [2, 1, 2]:
        return blobs
    w, b, static, *rest = blobs
    fits = w.shape[1] == width and len(w) == len(static)
    return [np.concatenate([w, static], 1), b, *rest] if fits else blobs


def weights_in(conf, params, buffers, layers=None):
    """Returns the LayerArrays for the vectors of a state."""
    views = conf.params_layout.views(params) | conf.buffers_layout.views(buffers)
    return LayerArrays(conf, views, layers)


def moments_in(conf, moments, layers=None):
    """Returns the LayerArrays for a slot of an optimizer; buffers have zeros there."""
    nothing = np.zeros(conf.buffers_layout.size, np.float32)
    return LayerArrays(conf, moments | conf.buffers_layout.views(nothing), layers, owned=True)
