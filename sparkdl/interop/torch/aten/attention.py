"""Translation of torch.nn.MultiheadAttention: all its calls together become one layer."""

import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparkdl.interop.torch.aten.node import Place
from sparkdl.interop.torch.aten.trained_arrays import is_frozen
from sparkdl.interop.translated_network import need
from sparkdl.nn import layers as nn

log = logging.getLogger(__name__)
ARRAYS = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")


@dataclass
class AttentionCalls:
    """The calls of one use of a MultiheadAttention.

    Parameters
    ----------
    path : str
        Of the module.
    module : torch.nn.MultiheadAttention
    trains : bool
        Whether the module is in training mode while the network trains.
    calls : list of torch.fx.Node
    """

    path: str
    module: Any
    trains: bool = True
    calls: list = field(default_factory=list)

    @property
    def results(self):
        """The calls whose results are read by others."""
        own = set(self.calls)
        return [call for call in self.calls if any(user not in own for user in call.users)]

    @property
    def sources(self):
        """Inputs from outside these calls, each once, in the order of use."""
        own = set(self.calls)
        read = [source for call in self.calls for source in call.all_input_nodes]
        return list(dict.fromkeys(source for source in read if source not in own))

    @property
    def causal(self):
        """Whether a call sets a causal mask."""
        products = [call for call in self.calls if "scaled_dot_product" in call.name]
        return any(True in call.args or call.kwargs.get("is_causal") for call in products)

    def add_to(self, network, values):
        """Adds the layer to NetworkParts; returns its Place. `values` has the sources' values."""
        part, known = self.module, [values[source] for source in self.sources]
        places = [value for value in known if isinstance(value, Place)]
        own = {parameter.data_ptr() for parameter in part.parameters()}
        constants = [one for one in known if not isinstance(one, Place)]
        masks = [one for one in constants if one.data_ptr() not in own]
        need(len(self.results) == 1, "the weights of the attention as an output")
        need(part.batch_first, "batch_first=False")
        need(part.bias_k is None and not part.add_zero_attn, "add_bias_kv or add_zero_attn")
        need(part.in_proj_weight is not None, "kdim or vdim")
        need(places and all(len(place.shape) == 2 for place in places), "a mask that is computed")
        need(all(map(is_causal, masks)), "another mask than a causal one")
        found = dict(part.named_parameters())
        tensors = {name: found[name] for name in ARRAYS if name in found}
        kind = nn.SelfAttention if len(places) == 1 else nn.MultiHeadAttention
        layer = kind(
            heads=part.num_heads,
            causal=self.causal or bool(masks),
            dropout=self.dropout(tensors),
            bias=part.in_proj_bias is not None,
        )
        return network.add(layer, places, self.path, tensors)

    def dropout(self, tensors):
        """Returns the layer's dropout rate: 0 if it is frozen, since frozen layers drop nothing."""
        if not self.trains:
            return 0.0
        if not is_frozen(tensors):
            return self.module.dropout
        if self.module.dropout and self.module.training:
            rate = self.module.dropout
            log.warning("%s: it is frozen, so its dropout of %s is left out", self.path, rate)
        return 0.0


def find_attentions(graph, module, training):
    """Returns {call: AttentionCalls} of an exported graph of a module; see `TrainingMode`."""
    found, of_call = {}, {}
    for node in graph.nodes:
        for key, (path, _) in node.meta.get("nn_module_stack", {}).items():
            inner = submodule(module, path)
            if type(inner).__name__ == "MultiheadAttention" and node.op == "call_function":
                group = found.setdefault(key, AttentionCalls(path, inner, training.trains(path)))
                group.calls.append(node)
                of_call[node] = group
                break
    return of_call


def submodule(module, path):
    """Returns the module at a path, which ends in "@1" at its second use; None if there is none."""
    try:
        return module.get_submodule(path.partition("@")[0])
    except AttributeError:
        return None


def is_causal(mask):
    """Returns whether a constant mask hides exactly the later steps from each step."""
    values = mask.numpy()
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        return False
    later = np.triu(np.ones(values.shape, bool), 1)
    if values.dtype == bool:
        return bool((values == later).all())
    return bool((np.isneginf(values) == later).all() and (values[~later] == 0).all())
