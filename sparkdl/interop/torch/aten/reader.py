"""Networks from live modules of PyTorch."""

import operator
import re
from dataclasses import dataclass

import numpy as np

from sparkdl.errors import ConfigError, SparkdlError, UnsupportedError, brief
from sparkdl.interop.torch.aten.attention import find_attentions
from sparkdl.interop.torch.aten.node import AtenNode, NetworkParts, Place
from sparkdl.interop.torch.aten.rules import RULES
from sparkdl.interop.torch.aten.trained_arrays import one_row
from sparkdl.interop.torch.module_arrays import load_torch
from sparkdl.interop.translated_network import state_with
from sparkdl.nn import GraphBuilder
from sparkdl.nn.layers import LossLayer
from sparkdl.training.network import Network

FARTHEST = 1e-3  # from the module's own output, as a share of the largest number
UNSEEN = (AttributeError, KeyError, IndexError, TypeError, ValueError)
CHECKS = re.compile(r"_assert.*|_guards_fn")  # calls that compute nothing


@dataclass(frozen=True, kw_only=True)
class ModuleNet:
    """A network that was made of a module.

    Parameters
    ----------
    network : Network
    outputs : tuple of str
        The layers that give what the module returns, in its order.
    """

    network: Network
    outputs: tuple[str, ...]

    def run(self, *inputs):
        """Returns the outputs, arrays (n, ...), for arrays (n, ...)."""
        names = list(self.network.conf.input_shapes)
        given = inputs[0] if len(names) == 1 else dict(zip(names, inputs, strict=True))
        found = self.network.features(given, list(dict.fromkeys(self.outputs)))
        return tuple(found[name] for name in self.outputs)


def read_module(module, example_inputs, *, loss=None, **options):
    """Returns the ModuleNet of a torch.nn.Module, by torch.export. Executors need no PyTorch.

    Parameters, and the statistics of BatchNorm, come along; dropout is there when it is trained.
    Trained is what requires a gradient; what does not, and buffers, are frozen. A parameter that
    several calls read in the same way is one here, too; of one that layers have in different ways
    they have copies, which a warning names.

    Parameters
    ----------
    module : torch.nn.Module
        In float32, on the processor. Its layers have the paths of its modules as names.
    example_inputs : tuple of tensors
        (n, ...) each, with n of 2 or more: real ones, as the network must give the module's output
        for them.
    loss : loss, name or mapping, optional
        Of the only output, which a layer "output" compares with labels. None: there is no output
        layer, and the network is not trained.
    options : of GraphConf (optimizer, l2, seed ...)

    Raises
    ------
    UnsupportedError
        Lists all calls that have no layer here, each with its reason.
    """
    torch = load_torch()
    if not isinstance(module, torch.nn.Module):
        raise ConfigError(f"read_module.module must be a torch.nn.Module, got {brief(module)}")
    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    sizes = {len(one) for one in inputs if torch.is_tensor(one) and one.ndim}
    if len(sizes) != 1 or min(sizes) < 2:
        raise ConfigError(f"read_module.example_inputs must be tensors (n >= 2, ...), got {sizes}")
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            expected = module(*inputs)
        exported = torch.export.export(module, inputs)
    finally:
        for part, trains in modes:
            part.training = trains
    translation = ModuleTranslation(exported, module, inputs, torch)
    translation.run()
    net = translation.net(loss, options)
    check_outputs(net, inputs, expected, loss)
    return net


class ModuleTranslation:
    """The values of an exported graph so far: Places, constant tensors, plain values."""

    def __init__(self, exported, module, inputs, torch):
        self.graph, self.torch, self.size = exported.graph, torch, len(inputs[0])
        self.attentions = find_attentions(exported.graph, module)
        self.values, self.refused = {}, []
        tensors = {**exported.state_dict, **exported.constants}
        signature, shapes = exported.graph_signature, iter(inputs)
        targets = {spec.arg.name: spec.target for spec in signature.input_specs}
        build = GraphBuilder()
        for node in self.graph.nodes:
            if node.op == "placeholder" and node.name in signature.user_inputs:
                shape = tuple(next(shapes).shape[1:])
                build.inputs[node.name] = shape
                self.values[node] = Place(node.name, shape)
            elif node.op == "placeholder":
                self.values[node] = tensors[targets[node.name]]
        self.parts = NetworkParts(build, module.named_parameters())

    def run(self):
        for node in self.graph.nodes:
            if node.op == "call_function" and self.is_needed(node):
                self.try_call(node)
            elif node.op == "output":
                self.outputs = node.args[0]

    def is_needed(self, node):
        """Returns whether a call's result is read, or changes what it reads."""
        name = self.operation(node)
        if node in self.attentions and node not in self.attentions[node].results:
            return False
        return (node.users or name.endswith("_")) and not CHECKS.fullmatch(name)

    @staticmethod
    def operation(node):
        schema = getattr(node.target, "_schema", None)
        return schema.name.split("::")[-1] if schema else node.target.__name__

    def try_call(self, node):
        try:
            self.values[node] = self.call(node)
        except (SparkdlError, *UNSEEN) as error:
            self.refused.append(f"{node.name} ({self.operation(node)}): {error}")

    def call(self, node):
        """Returns the value of a call."""
        attention = self.attentions.get(node)
        sources = node.all_input_nodes if attention is None else attention.sources
        lost = [one.name for one in sources if one not in self.values]
        if lost:
            raise UnsupportedError(f"reading {lost}, which were refused, is not supported")
        if attention is not None:
            made = attention.add_to(self.parts, self.values)
            self.check_shape(node, made)
            return made
        args, kwargs = self.known(node.args), self.known(node.kwargs)
        if node.target is operator.getitem:
            return args[0][args[1]]
        if not any(isinstance(self.values[one], Place | tuple) for one in node.all_input_nodes):
            return self.fold(node, args, kwargs)
        name = self.operation(node)
        changes_input = name.endswith("_") and not name.startswith("_")
        name = name.rstrip("_") if changes_input else name
        if name not in RULES:
            raise UnsupportedError(f"the operation {name} is not supported")
        made = RULES[name](self.aten_node(node, args, kwargs))
        self.check_shape(node, made)
        if changes_input:
            self.values[node.args[0]] = made
        return made

    def fold(self, node, args, kwargs):
        """Returns the value of a call that reads constants alone."""
        made, name = node.target(*args, **kwargs), self.operation(node)
        known = [self.values[one] for one in node.all_input_nodes]
        if name == "embedding" and self.only_adds(node) and args[2:3] != (int(known[1].min()),):
            made = one_row(*known, made)
        self.parts.trained.note_folded(name, known, made)
        return made

    def only_adds(self, node):
        """Returns whether what a call gives is only added to something, so that it broadcasts."""
        return all(self.operation(user).rstrip("_") == "add" for user in node.users)

    def known(self, value):
        """Returns arguments with values in place of nodes."""
        return self.torch.fx.node.map_arg(value, lambda node: self.values[node])

    def aten_node(self, node, args, kwargs):
        schema = node.target._schema.arguments
        named = {a.name: a.default_value for a in schema if a.has_default_value()}
        named |= dict(zip((a.name for a in schema), args, strict=False)) | kwargs
        if "input" not in named and isinstance(named.get("self"), Place):
            named["input"] = named["self"]
        stack = [*node.meta.get("nn_module_stack", {}).values()]
        module = stack[-1][0] if stack else ""
        value = node.meta["val"]
        shape = tuple(value.shape[1:]) if self.torch.is_tensor(value) else None
        return AtenNode(named, shape, module, self.parts, self.size)

    def check_shape(self, node, made):
        """Refuses a result of another shape than torch's: an axis was taken for another."""
        values, made = node.meta["val"], made if isinstance(made, tuple) else (made,)
        values = values if isinstance(values, list | tuple) else (values,)
        for value, place in zip(values, made, strict=False):
            if tuple(value.shape) != (self.size, *place.shape):
                expected = tuple(value.shape)
                raise UnsupportedError(
                    f"a result {expected} as a batch of {place.shape} is not supported"
                )

    def net(self, loss, options):
        """Returns the ModuleNet, if no call was refused."""
        places = [self.values.get(one) for one in self.outputs]
        if not self.refused and not all(isinstance(one, Place) for one in places):
            self.refused.append("an output that is constant")
        if self.refused:
            lines = "\n  ".join(self.refused)
            raise UnsupportedError(f"the module has calls without a layer:\n  {lines}")
        if loss is not None:
            if len(places) != 1:
                raise ConfigError(f"read_module.loss must be None for {len(places)} outputs")
            self.parts.build.add(LossLayer(loss=loss), places[0].name, name="output")
        self.parts.trained.warn()
        network = Network(self.parts.build.conf(**options))
        network.state = state_with(network, self.parts.weights.items())
        return ModuleNet(network=network, outputs=tuple(place.name for place in places))


def check_outputs(net, inputs, expected, loss):
    """Refuses a network whose outputs are not the module's."""
    theirs = expected if isinstance(expected, list | tuple) else (expected,)
    ours = net.run(*(one.numpy().astype(np.float32) for one in inputs))
    for name, given, tensor in zip(net.outputs, ours, theirs, strict=True):
        wanted = tensor.numpy()
        apart = np.abs(given - wanted).max() / max(np.abs(wanted).max(), 1e-6)
        if not apart <= FARTHEST:
            raise UnsupportedError(
                f"the module's output {name} cannot be computed: ours is {apart:.1e} away from it"
            )
