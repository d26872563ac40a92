"""Pairs of layers and modules of a state_dict."""

import re

from sparkdl.errors import ConfigError

IGNORED = "num_batches_tracked"  # not needed by any layer
RECURRENT = re.compile(r"(weight|bias)_(ih|hh)_l(\d+)(_reverse)?")
WAYS = ("order", "name")


def modules_of(state_dict):
    """Returns {module: {name: array}} in the order of the file.

    Each layer of a recurrent module is a module: "lstm", "lstm.l1" and so on. An attention includes
    its output projection.
    """
    found = {}
    for name, array in state_dict.items():
        module, _, last = name.rpartition(".")
        parts = RECURRENT.fullmatch(last)
        if parts:
            number = int(parts[3])
            module = module if number == 0 else f"{module}.l{number}".lstrip(".")
            last = f"{parts[1]}_{parts[2]}{parts[4] or ''}"
        outer, _, inner = module.rpartition(".")
        if inner == "out_proj" and "in_proj_weight" in found.get(outer, ()):
            module, last = outer, f"out_proj.{last}"
        if last != IGNORED:
            found.setdefault(module, {})[last] = array
    return found


def pairs_of(layers, modules, by, names, ordered):
    """Returns {layer: module}.

    Parameters
    ----------
    layers, modules : list of str
        In order.
    by : str
        "order": the unpaired ones of both lists are paired in order; "name": those with equal names
        are paired, where "/" equals ".".
    names : {layer: module}
        Explicit pairs.
    ordered : bool
        Whether the file keeps the order in which the module defined them.
    """
    if by not in WAYS:
        raise ConfigError(f"read_torch.by must be one of {WAYS}, got {by!r}")
    for layer, module in names.items():
        if layer not in layers or module not in modules:
            raise ConfigError(
                f"read_torch.names must pair layers of {layers} with modules of {modules}, got "
                f"{layer!r}: {module!r}"
            )
    free = [layer for layer in layers if layer not in names]
    left = [module for module in modules if module not in names.values()]
    if by == "order" and free and left and not ordered:
        raise ConfigError(
            "read_torch.by must be 'name' for a safetensors file, which has lost the order of its "
            f"modules, got 'order'; or pair {free} by names="
        )
    if by == "order":
        return dict(zip(free, left, strict=False)) | names
    known = {module.replace(".", "/"): module for module in left}
    alike = {layer: known.get(layer.replace(".", "/")) for layer in free}
    return {layer: module for layer, module in alike.items() if module} | names
