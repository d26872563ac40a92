"""Networks as Keras models."""

from dataclasses import replace

from sparkdl.data import files
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.keras.writing.archive import archive, weights_file
from sparkdl.interop.keras.writing.check import read_again
from sparkdl.interop.keras.writing.graph import GraphWriter
from sparkdl.interop.keras.writing.training import compile_config


def write_keras(network, path, outputs=None, *, compiled=True):
    """Writes a Network as a .keras archive, which `keras.models.load_model` reads.

    Keras is not needed. The model takes the network's inputs, images with channels first, and makes
    the same predictions; inside, channels are last. The network's loss, optimizer and optimizer
    state become its compile settings, if Keras has the same ones.

    Parameters
    ----------
    network : Network
    path : path
        A .keras file, local or a URI; an existing one is replaced.
    outputs : str or sequence of str, optional
        Names of layers, or a single name. None: the network's outputs, or the layers that nothing
        reads if it has none.
    compiled : bool
        Whether to write what only training needs: loss, optimizer, l1 and l2, initializers.

    Returns
    -------
    list of str
        What the file leaves out, such as a loss or an optimizer that Keras does not have.

    Raises
    ------
    UnsupportedError
        Lists all layers and options that Keras does not have. Nothing is written then.
    ConfigError
        A name of `outputs` is no layer.
    """
    content, notes = keras_archive(network, outputs, compiled)
    files.write(path, content)
    return notes


def keras_archive(network, outputs=None, compiled=True):
    """Returns (contents of the file, notes)."""
    conf = replace(network.conf, dtype="float32")
    names = output_names(conf, outputs)
    writer = GraphWriter(conf, names, compiled)
    document = writer.document()
    taken, refused = read_again(document, writer.expected, compiled)
    refuse([*writer.refused, *refused])
    settings, why = compile_config(conf, names) if compiled else (None, None)
    if settings is not None:
        document["compile_config"] = settings
    owners = {name: layer.owner for name, layer in writer.layers.items()}
    weights = weights_file(network, taken, owners, settings is not None)
    return archive(document, weights), [why] if why else []


def output_names(conf, asked):
    """Returns the names of the model's output layers."""
    layers = [place.name for place in conf.stack]
    asked = [asked] if isinstance(asked, str) else asked
    unknown = [name for name in asked or () if name not in layers]
    if unknown:
        raise ConfigError(f"write_keras.outputs must be of {layers}, got {unknown}")
    if asked:
        return list(asked)
    read = {name for place in conf.stack for name in place.sources}
    last = [name for name in layers if name not in read]
    return [place.name for place in conf.outputs] or last


def refuse(reasons):
    """Raises an UnsupportedError with all reasons, if there are any."""
    if reasons:
        lines = "\n  ".join(dict.fromkeys(reasons))
        raise UnsupportedError(f"Keras does not have these layers or options:\n  {lines}")
