"""Networks with weights that PyTorch saved."""

from dataclasses import dataclass

import numpy as np

from sparkdl.errors import DataError, SparkdlError
from sparkdl.interop.torch.weights.layer_arrays import arrays_for
from sparkdl.interop.torch.weights.matching import modules_of, pairs_of
from sparkdl.interop.torch.weights.state_dict import read_state_dict
from sparkdl.interop.translated_network import state_with
from sparkdl.training.network import Network

MOST = 30  # lines of an error


@dataclass(frozen=True, kw_only=True)
class TorchNet:
    """A network with the weights of a state_dict, and a report of which went where.

    Parameters
    ----------
    network : Network
    pairs : {layer: module of the state_dict}
    matched : {"layer/array": shape}
        Arrays of ours that have numbers of the file.
    missing : tuple of str
        "layer/array" of those that have first values of ours.
    unused : tuple of str
        Names in the file that went nowhere.
    """

    network: Network
    pairs: dict[str, str]
    matched: dict[str, tuple]
    missing: tuple[str, ...]
    unused: tuple[str, ...]


def read_torch(path, conf, *, by="order", names=None, strict=True, key=None):
    """Returns the TorchNet of a state_dict in a network of ours. PyTorch is not needed.

    Numbers become what our layers mean by them: weights of a Linear are turned, gates are sorted,
    two biases become one. What is no array is not in the file: epsilons, strides, activations are
    those of the conf.

    Parameters
    ----------
    path : str
        A .safetensors file, or what torch.save wrote of a state_dict; local or a URI. Of pickles
        tensors are read alone, and no code is run.
    conf : NetworkConf or GraphConf
    by : str
        "order": the layers with arrays take the modules one after the other, as the module made
        them; a safetensors file has lost that order. "name": layers have the names of modules,
        "layer1.0.conv1" or "layer1/0/conv1".
    names : {layer: module}, optional
        Pairs in any case; the others go together as `by` says.
    strict : bool
        Whether it is an error if arrays of the file or of the network are left over.
    key : str, optional
        Where the state_dict is, in a file that holds more.

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
    """Returns {layer: {array: shape}} of layers with arrays, in order."""
    found = {}
    for layout in (conf.params_layout, conf.buffers_layout):
        for name, shape in layout.entries:
            layer, _, last = name.rpartition("/")
            found.setdefault(layer, {})[last] = tuple(shape)
    order = [place.name for place in conf.stack]
    return {layer: found[layer] for layer in order if layer in found}


def refuse(wrong, path):
    """Raises DataError that lists all that does not fit, if there is any."""
    if wrong:
        more = [f"and {len(wrong) - MOST} more"] * (len(wrong) > MOST)
        lines = "\n  ".join([*wrong[:MOST], *more])
        raise DataError(f"{path} does not fit the network:\n  {lines}")
