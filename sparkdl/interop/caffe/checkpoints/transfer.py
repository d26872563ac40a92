"""Transfer of Caffe's weights to and from a network, by layer name."""

from dataclasses import dataclass, field

from sparkdl.errors import CheckpointError
from sparkdl.interop.caffe.checkpoints.layer_arrays import weights_in
from sparkdl.interop.caffe.checkpoints.weights import read_weights, write_weights


@dataclass(frozen=True, kw_only=True)
class LoadReport:
    """The result of loading a file of weights.

    Parameters
    ----------
    path : str
    loaded : tuple of str
        Layers whose weights were loaded.
    unchanged : tuple of str
        Layers of the network that were left unchanged.
    unused : tuple of str
        Layers of the file that are not in the network, or have no weights there.
    misfits : {layer: str}
        Why layers were left unchanged although the file has them.
    """

    path: str
    loaded: tuple[str, ...]
    unchanged: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    misfits: dict[str, str] = field(default_factory=dict)

    def __str__(self):
        rows = {"loaded": self.loaded, "left as they were": self.unchanged, "not used": self.unused}
        lines = [f"{what}: {', '.join(names)}" for what, names in rows.items() if names]
        lines += [f"{name} left as it was: {why}" for name, why in self.misfits.items()]
        return "\n  ".join([f"weights of {self.path}", *lines])


def load_weights(conf, state, path, layers=None, fit=True):
    """Loads the weights of a .caffemodel into layers of the same name.

    Parameters
    ----------
    conf : GraphConf or NetworkConf
    state : TrainState
        Its other vectors and counters are kept.
    path : str
        Local or a URI; see `read_weights`.
    layers : {name: LayerParameter}, optional
        CaffeNet.layers, which is needed for an InnerProduct with `transpose`.
    fit : bool
        Whether a layer with different shapes is an error; otherwise it is left unchanged.

    Returns
    -------
    state, LoadReport

    Raises
    ------
    CheckpointError
        If the file is unusable, shapes differ, or no layer name is in both.
    """
    weights, misfits, loaded = read_weights(path), {}, []
    params, buffers = state.params.copy(), state.buffers.copy()
    arrays = weights_in(conf, params, buffers, layers)
    for name in [name for name in arrays if name in weights]:
        try:
            arrays.put(name, weights[name])
            loaded.append(name)
        except CheckpointError as error:
            if fit:
                raise CheckpointError(f"{path}, layer {name!r}: {error}") from error
            misfits[name] = str(error)
    if not loaded and not misfits:
        ours, in_file = ", ".join(arrays), ", ".join(weights)
        text = f"no layer has a name of the network: {in_file}; {ours}"
        raise CheckpointError(f"{path}: {text}; name the network's layers as the file does")
    filled = {owner for name in loaded for owner in arrays.owners(name)}
    report = LoadReport(
        path=str(path),
        loaded=tuple(loaded),
        unchanged=tuple(n for n in arrays if not arrays.owners(n) <= filled and n not in misfits),
        unused=tuple(name for name in weights if name not in arrays),
        misfits=misfits,
    )
    return state.with_weights(params, buffers), report


def save_weights(conf, state, path, layers=None, name=""):
    """Writes the weights of a network as a .caffemodel, in HDF5 if the path ends in .h5.

    Parameters
    ----------
    conf : GraphConf or NetworkConf
    state : TrainState
    path : str
        Local or a URI; written atomically.
    layers : {name: LayerParameter}, optional
        CaffeNet.layers, descriptions of the layers to store in the file as well.
    name : str
        Name of the net.

    Raises
    ------
    UnsupportedError
        If Caffe has no layer with such arrays.
    CheckpointError
        If the file cannot be written.
    """
    arrays = weights_in(conf, state.params, state.buffers, layers)
    written = [name for name in arrays if arrays.is_owner(name) or name in (layers or ())]
    write_weights(path, {name: arrays.blobs(name) for name in written}, name, layers)
