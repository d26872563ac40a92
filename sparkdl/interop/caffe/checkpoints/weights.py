"""Files of weights: .caffemodel, binary and HDF5."""

from contextlib import contextmanager

from sparkdl.data import files
from sparkdl.errors import CheckpointError, DataError
from sparkdl.interop.caffe.checkpoints import hdf5
from sparkdl.interop.caffe.messages.binary import HDF5, as_bytes, is_hdf5, parse_bytes, read_bytes
from sparkdl.interop.caffe.messages.blobs import array_of, blob_of
from sparkdl.interop.caffe.messages.schema import RAW, LayerParameter
from sparkdl.interop.caffe.nets.blob_uses import DATA
from sparkdl.interop.caffe.nets.names import number_names


def read_weights(path):
    """Returns the weights in a .caffemodel, binary of any version of Caffe, or HDF5.

    Parameters
    ----------
    path : str
        Local or a URI. What the file holds decides, not its name.

    Returns
    -------
    {layer: [array]} of layers that have any, in the order of the file, from HDF5 by name; as Caffe
    holds them, float32 or float64, not to be written to

    Raises
    ------
    CheckpointError
        The file cannot be read, is cut or damaged, or holds no weights.
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
    """Writes weights as a .caffemodel: as HDF5 where the path ends in .h5, else binary.

    Parameters
    ----------
    path : str
        Local or a URI; the file appears whole or not at all.
    weights : {layer: [array]}
        As Caffe holds them; float64 is written as such, all else as float32.
    name : str
        Of the net.
    layers : {layer: LayerParameter}, optional
        What the file is to say of layers beside their weights. Readers go by the names alone.
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
            added.blobs.extend(map(blob_of, weights.get(layer, ())))
        files.write(path, as_bytes(net, path))


def weights_of(net, path):
    """Returns {layer: [array]} of a NetParameter (of RAW), whatever its version.

    A second layer of a name is called as `numbered` calls it in a net; in Caffe its weights would
    go to the first as well.
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
    """Turns an error of a file into one of a model."""
    try:
        yield
    except DataError as error:
        raise CheckpointError(str(error)) from error
