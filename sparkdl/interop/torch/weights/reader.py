"""Networks with weights saved by PyTorch."""

from dataclasses import dataclass

import numpy as np

from sparkdl.errors import DataError, SparkdlError
from sparkdl.interop.torch.weights.layer_arrays import arrays_for
from sparkdl.interop.torch.weights.matching import modules_of, pairs_of
from sparkdl.interop.torch.weights.state_dict import read_state_dict
from sparkdl.interop.translated_network import state_with
from sparkdl.training.network import Network

MOST = 30  # lines in an error message


@dataclass(frozen=True, kw_only=True)
class TorchNet:
    """A network with the weights of a state_dict, and a report of what was loaded.

    Parameters
    ----------
    network : Network
    pairs : {layer: module of the state_dict}
    matched : {"layer/array": shape}
        Arrays of the network that were loaded.
    missing : tuple of str
        "layer/array" of arrays that keep their initial values.
    unused : tuple of str
        Names in the file that were not used.
    """

    network: Network
    pairs: dict[str, str]
    matched: dict[str, tuple]
    missing: tuple[str, ...]
    unused: tuple[str, ...]


def read_torch(path, conf, *, by="order", names=None, strict=True, key=None):
    """Loads a state_dict into a sparkdl network and returns a TorchNet; PyTorch is not needed.

    Arrays are converted to the layout of sparkdl's layers: weights of a Linear are transposed,
    gates reordered, two biases summed. A state_dict has only arrays: epsilons, strides and
    activations are those of the conf.

    Parameters
    ----------
    path : str
        A .safetensors file, or a state_dict that torch.save wrote; local or a URI. Only tensors are
        read from pickles, and no code is run.
    conf : NetworkConf or GraphConf
    by : str
        "order": layers with arrays are paired with the modules in the order in which the module
        defined them, which a safetensors file does not keep. "name": layers have the names of
        modules, "layer1.0.conv1" or "layer1/0/conv1".
    names : {layer: module}, optional
        Explicit pairs; the others are paired by `by`.
    strict : bool
        Whether arrays left over, in the file or in the network, are an error.
    key : str, optional
        Key of the state_dict, in a file that holds more.

    Raises
    ------
    DataError
        Lists all arrays that do not fit, with their shapes; or the file is damaged.
    UnsupportedError
        The file holds objects other than tensors.
    """
    state_dict, ordered = read_state_dict(path, key)
    modules = modules_of(state_dict)
    places = {place.name: place for place in conf.stack}
    shapes = shapes_of(conf)
    pairs = pairs_of(list(shapes), list(modules), by, dict(names or {}), ordered)
    found, wrong = {}, []
    for layer, module in pairs.items():
        try:
            arrays = arrays_for(places[layer].layer, shapes[layer], modules[module])
        except (SparkdlError, ValueError) as error:
            wrong.append(f"{module} in {layer}: {error}")
            continue
        for name, array in arrays.items():
            wanted, got = shapes[layer].get(name), array.shape
            found[f"{layer}/{name}"] = array
            if wanted != got:
                wrong.append(f"{module} in {layer}/{name}: shape must be {wanted}, got {got}")
    ours = [f"{layer}/{name}" for layer, arrays in shapes.items() for name in arrays]
    missing = tuple(name for name in ours if name not in found)
    unused = tuple(f"{m}.{n}".lstrip(".") for m, arrays in modules.items() for n in arrays)
    if strict:
        wrong += [f"{name}: no array in the file" for name in missing]
        wrong += [f"{name} of the file: no layer" for name in unused]
    refuse(wrong, path)
    network = Network(conf)
    with np.errstate(over="ignore"):
        network.state = state_with(network, found.items())
    matched = {name: array.shape for name, array in found.items()}
    return TorchNet(network=network, pairs=pairs, matched=matched, missing=missing, unused=unused)


def shapes_of(conf):
    """Returns {layer: {array: shape}} of the layers with arrays, in order."""
    found = {}
    for layout in (conf.params_layout, conf.buffers_layout):
        for name, shape in layout.entries:
            layer, _, last = name.rpartition("/")
            found.setdefault(layer, {})[last] = tuple(shape)
    order = [place.name for place in conf.stack]
    return {layer: found[layer] for layer in order if layer in found}


def refuse(wrong, path):
    """Raises a DataError that lists all mismatches, if there are any."""
    if wrong:
        more = [f"and {len(wrong) - MOST} more"] * (len(wrong) > MOST)
        lines = "\n  ".join([*wrong[:MOST], *more])
        raise DataError(f"{path} does not fit the network:\n  {lines}")
