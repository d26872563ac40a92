"""Weight files: .caffemodel, binary or HDF5."""

from contextlib import contextmanager

from sparkdl.data import files
from sparkdl.errors import CheckpointError, DataError
from sparkdl.interop.caffe.checkpoints import hdf5
from sparkdl.interop.caffe.messages.binary import HDF5, as_bytes, is_hdf5, parse_bytes, read_bytes
from sparkdl.interop.caffe.messages.blobs import add_blobs, array_of
from sparkdl.interop.caffe.messages.schema import RAW, LayerParameter
from sparkdl.interop.caffe.nets.blob_uses import DATA
from sparkdl.interop.caffe.nets.names import number_names


def read_weights(path):
    """Reads the weights in a .caffemodel, in the binary form of any version of Caffe, or HDF5.

    Parameters
    ----------
    path : str
        Local or a URI; the contents determine the format, not the name.

    Returns
    -------
    {layer: [array]} of layers with weights, in the order of the file, for HDF5 by name; read-only,
    in Caffe's layout, float32 or float64

    Raises
    ------
    CheckpointError
        If the file cannot be read, is truncated or damaged, or has no weights.
    """
    with as_checkpoint():
        content = read_bytes(path)
        if content.startswith(HDF5):
            weights = hdf5.weights_from_hdf5(content, path)
        else:
            weights = weights_of(parse_bytes(content, RAW["NetParameter"], path), path)
    if not weights:
        raise CheckpointError(f"{path}: must hold weights, got a net without any")
    return weights


def write_weights(path, weights, name="", layers=None):
    """Writes weights as a .caffemodel: in HDF5 if the path ends in .h5, else binary.

    Parameters
    ----------
    path : str
        Local or a URI; written atomically.
    weights : {layer: [array]}
        In Caffe's layout; float64 is kept, other types become float32.
    name : str
        Name of the net.
    layers : {layer: LayerParameter}, optional
        Descriptions of layers to store besides their weights; readers only use the names.
    """
    with as_checkpoint():
        if is_hdf5(path):
            return files.write(path, hdf5.weights_to_hdf5(weights))
        net = RAW["NetParameter"](name=name)
        for layer in [*(layers or {}), *(one for one in weights if one not in (layers or {}))]:
            message = (layers or {}).get(layer, LayerParameter(name=layer))
            added = net.layer.add()
            added.ParseFromString(message.SerializeToString())
            del added.blobs[:]
            add_blobs(added.blobs, weights.get(layer, ()), path)
        files.write(path, as_bytes(net, path))


def weights_of(net, path):
    """Returns {layer: [array]} of a NetParameter (of RAW) of any version.

    A second layer with the same name is renamed as by `number_names`; in Caffe its weights would
    also be loaded into the first.
    """
    old = [one.layer if one.HasField("layer") else one for one in net.layers]  # V0 or V1
    layers = [one for one in [*net.layer, *old] if one.type not in DATA]
    weights = {}
    for layer, name in zip(layers, number_names(one.name for one in layers), strict=True):
        if layer.blobs:
            where = f"{path}, layer {name!r}"
            weights[name] = [array_of(blob, where) for blob in layer.blobs]
    return weights


@contextmanager
def as_checkpoint():
    """Turns a DataError into a CheckpointError."""
    try:
        yield
    except DataError as error:
        raise CheckpointError(str(error)) from error
