"""Weights of Caffe into and out of a network, by the names of the layers."""

from dataclasses import dataclass, field, replace

from sparkdl.errors import CheckpointError
from sparkdl.interop.caffe.orders import arrays_of, blobs_of
from sparkdl.interop.caffe.weights import read_weights, write_weights


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What became of the weights in a file.

    Parameters
    ----------
    path : str
    loaded : tuple of str
        Layers that have their weights from it.
    left : tuple of str
        Layers of the network that stayed as they were.
    unused : tuple of str
        Layers of the file that the network does not have, or has no weights in.
    misfits : {layer: str}
        Why layers were left although the file has them.
    """

    path: str
    loaded: tuple[str, ...]
    left: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    misfits: dict[str, str] = field(default_factory=dict)

    def __str__(self):
        rows = {"loaded": self.loaded, "left as they were": self.left, "not used": self.unused}
        lines = [f"{what}: {', '.join(names)}" for what, names in rows.items() if names]
        lines += [f"{name} left as it was: {why}" for name, why in self.misfits.items()]
        return "\n  ".join([f"weights of {self.path}", *lines])


def load_weights(conf, state, path, layers=None, fit=True):
    """A state with the weights of a .caffemodel wherever a layer has the same name in both.

    Parameters
    ----------
    conf : GraphConf or NetworkConf
    state : TrainState
        Its other vectors and counters stay.
    path : str
        Local or a URI; see `read_weights`.
    layers : {name: LayerParameter}, optional
        What the net of Caffe says: CaffeNet.layers. An InnerProduct with `transpose` is to be read
        by it.
    fit : bool
        Whether a layer whose shapes differ is an error; else it stays as it is.

    Returns
    -------
    state, Loaded

    Raises
    ------
    CheckpointError
        For a file that cannot be used, shapes that differ, and where no name is in both.
    """
    found, misfits = read_weights(path), {}
    arrays = Arrays(conf, state)
    places, loaded = arrays.places, []
    for name in [name for name in places if name in found]:
        try:
            arrays.put(places[name], found[name], said(layers, name))
            loaded.append(name)
        except CheckpointError as error:
            if fit:
                raise CheckpointError(f"{path}, layer {name!r}: {error}") from error
            misfits[name] = str(error)
    if not loaded and not misfits:
        mine, theirs = ", ".join(places), ", ".join(found)
        raise CheckpointError(f"{path}: no layer is called as in the network: {theirs}; {mine}")
    owners = {places[name].owner for name in loaded}
    report = Loaded(
        path=str(path),
        loaded=tuple(loaded),
        left=tuple(n for n in places if places[n].owner not in owners and n not in misfits),
        unused=tuple(name for name in found if name not in places),
        misfits=misfits,
    )
    return arrays.state(), report


def save_weights(conf, state, path, layers=None, name=""):
    """Write the weights of a network as a .caffemodel; as HDF5 where the path ends in .h5.

    Parameters
    ----------
    conf : GraphConf or NetworkConf
    state : TrainState
    path : str
        Local or a URI; the file appears whole or not at all.
    layers : {name: LayerParameter}, optional
        What the net of Caffe says of its layers, for the file to say as well: CaffeNet.layers.
    name : str
        Of the net.

    Raises
    ------
    UnsupportedError
        If Caffe has no layer with such arrays.
    CheckpointError
        If the file cannot be written.
    """
    arrays = Arrays(conf, state)
    weights = {
        place.name: arrays.blobs(place, said(layers, place.name))
        for place in arrays.places.values()
        if place.owner == place.name or place.name in (layers or ())
    }
    write_weights(path, weights, name, layers)


def said(layers, name):
    """The LayerParameter of a layer, or None."""
    return (layers or {}).get(name)


class Arrays:
    """The parameters and buffers of a state, layer by layer; what is put there goes to a copy.

    Attributes
    ----------
    places : {name: Placed}
        Layers with arrays, also those that use the arrays of others.
    """

    def __init__(self, conf, state):
        self._state = state
        self._params, self._buffers = state.params.copy(), state.buffers.copy()
        self._views = conf.params_layout.views(self._params)
        self._views |= conf.buffers_layout.views(self._buffers)
        self.places = {place.name: place for place in conf.stack if names_of(place)}

    def of(self, place):
        """{name: array} of a place."""
        return {name: self._views[f"{place.owner}/{name}"] for name in names_of(place)}

    def blobs(self, place, said):
        """Caffe's blobs of a place."""
        return blobs_of(place.layer, self.of(place), said)

    def put(self, place, blobs, said):
        """Fill the arrays of a place from Caffe's blobs."""
        mine = self.of(place)
        for name, array in arrays_of(place.layer, blobs, mine, said).items():
            mine[name][...] = array

    def state(self):
        """The state with what was put."""
        return replace(self._state, params=self._params, buffers=self._buffers)


def names_of(place):
    """Names of the arrays that a place uses."""
    layer, shape = place.layer, place.in_shape
    return [*layer.param_shapes(shape), *layer.buffer_shapes(shape)]
